//! How a list applies a filter that may match few of very many keys.
//!
//! A filter that many keys match fills its page from the newest keys, which are scanned in order. If these do
//! not fill the page, the matching keys are few or old: then an index yields candidates, newest first, and
//! only these are checked. A page of one consumer's keys scans its older keys instead where many keys of the
//! organization contain the term.

use uuid::Uuid;

/// How many of the newest keys are scanned.
pub(crate) const NEWEST_SCANNED: usize = 5_000;

/// How many candidates an index is first asked for. Of several indexes, the first that yields fewer is used.
pub(crate) const FIRST_BATCH: usize = 1_000;

/// The factor by which the number of candidates grows each time they do not fill the page.
pub(crate) const BATCH_GROWTH: usize = 4;

/// The keys that a query scans.
pub(crate) enum ScanScope {
    All,
    NotBefore(Uuid),
    Before(Uuid),
    These(Vec<Uuid>),
}

/// Merges the candidates of two indexes: newest first, without duplicates.
pub(crate) fn newest(mut candidates: Vec<Uuid>, others: Vec<Uuid>, limit: usize) -> Vec<Uuid> {
    candidates.extend(others);
    candidates.sort_unstable_by(|one, other| other.cmp(one));
    candidates.dedup();
    candidates.truncate(limit);
    candidates
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::newest;

    #[test]
    fn newest_entries_of_two_indexes_are_merged_without_duplicates() {
        let ids = |numbers: &[u128]| numbers.iter().copied().map(Uuid::from_u128).collect::<Vec<_>>();
        for (limit, expected) in [(9, &[9, 8, 7, 6, 5][..]), (3, &[9, 8, 7]), (0, &[])] {
            assert_eq!(newest(ids(&[9, 7, 5]), ids(&[8, 7, 6, 5]), limit), ids(expected));
        }
    }
}
