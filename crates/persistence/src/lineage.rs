//! Which keys came from which, beyond SQL.

use std::collections::HashSet;

use uuid::Uuid;

/// A key among those above it: its identifier, and how deep in its line it was made.
pub(crate) type InLine = (Uuid, i64);

/// Of a family that is too large to show, what [`OrganizationKeyStore::family`] puts first.
///
/// The line is the key that was asked for and its ancestors, the uppermost last. The others came from that one: valid keys,
/// those that are between, and any.
///
/// [`OrganizationKeyStore::family`]: keyward_domain::administration::ports::OrganizationKeyStore::family
pub(crate) fn shown_of_family(
    line: &[InLine],
    valid: Vec<Uuid>,
    between: Vec<Uuid>,
    below: Vec<Uuid>,
    at_most: usize,
) -> Vec<Uuid> {
    let line = line.iter().map(|(key, _)| *key);
    let by_rank = line.chain(valid).chain(between).chain(below);
    let mut shown = HashSet::new();
    for key in by_rank {
        if shown.len() == at_most {
            break;
        }
        shown.insert(key);
    }
    shown.into_iter().collect()
}

/// From below to above, whatever order the rows came in.
pub(crate) fn upwards(mut line: Vec<InLine>) -> Vec<InLine> {
    line.sort_unstable_by(|(_, depth), (_, other)| other.cmp(depth));
    line
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::shown_of_family;

    #[test]
    fn a_family_is_shown_by_rank_and_each_key_once() {
        let [key, top, valid, between, below] = [1, 2, 3, 4, 5].map(Uuid::from_u128);
        let line = [(key, 1), (top, 0)];
        let shown = |at_most| {
            let mut shown = shown_of_family(
                &line,
                vec![key, valid],
                vec![between, top],
                vec![between, below],
                at_most,
            );
            shown.sort_unstable();
            shown
        };
        assert_eq!(shown(2), [key, top]);
        assert_eq!(shown(3), [key, top, valid]);
        assert_eq!(shown(4), [key, top, valid, between]);
        assert_eq!(shown(9), [key, top, valid, between, below]);
    }
}
