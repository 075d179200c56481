//! How a list goes about a filter that may let few of very many keys through.
//!
//! What many keys pass is soon found among the newest of them, looked at one after the other. If those do not fill the page,
//! few keys pass, or old ones: then an index names candidates, the newest first, and only these are looked at.

use uuid::Uuid;

/// How many of the newest keys are looked at one after the other.
pub(crate) const NEWEST: usize = 5_000;

/// How many candidates an index is asked for at first. Of several indexes, the first that names fewer is taken.
pub(crate) const FEW: usize = 1_000;

/// How many times as many it is asked for when the last ones did not fill the page.
pub(crate) const MORE: usize = 4;

/// The newest of what two indexes name, each once.
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
    fn the_newest_of_two_indexes_are_taken_each_once() {
        let ids = |numbers: &[u128]| numbers.iter().copied().map(Uuid::from_u128).collect::<Vec<_>>();
        for (limit, expected) in [(9, &[9, 8, 7, 6, 5][..]), (3, &[9, 8, 7]), (0, &[])] {
            assert_eq!(newest(ids(&[9, 7, 5]), ids(&[8, 7, 6, 5]), limit), ids(expected));
        }
    }
}
