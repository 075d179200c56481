//! Parts of the queries for key trees that are computed outside of SQL, for both databases.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

/// A key in a chain of ancestors: its identifier and its depth in the key tree.
pub(crate) type ChainKey = (Uuid, i64);

/// Picks the keys that [`OrganizationKeyStore::key_tree`] shows first of a key tree that is too large to show
/// whole.
///
/// `chain` is the requested key and its ancestors, the topmost last. The other lists are descendants of the
/// topmost: valid keys, the keys between these and the topmost, and any other keys.
///
/// [`OrganizationKeyStore::key_tree`]: keyward_domain::administration::ports::OrganizationKeyStore::key_tree
pub(crate) fn shown_of_key_tree(
    chain: &[ChainKey],
    valid: Vec<Uuid>,
    between: Vec<Uuid>,
    below: Vec<Uuid>,
    at_most: usize,
) -> Vec<Uuid> {
    let first = chain.iter().map(|(key, _)| *key);
    let by_rank = first.chain(valid).chain(between).chain(below);
    let mut shown = HashSet::new();
    for key in by_rank {
        if shown.len() == at_most {
            break;
        }
        shown.insert(key);
    }
    shown.into_iter().collect()
}

/// Sorts a chain from the deepest key to the topmost.
pub(crate) fn upwards(mut chain: Vec<ChainKey>) -> Vec<ChainKey> {
    chain.sort_unstable_by(|(_, depth), (_, other)| other.cmp(depth));
    chain
}

/// One step of a walk from a key up to its ancestors: the key it leads from (`None` where a walk starts) and
/// the key it leads to.
///
/// Walks that meet continue as one, so there is one step from each key.
pub(crate) type Step = (Option<Uuid>, Uuid);

/// The start keys of the walks that pass one of the roots, by ascending identifier.
pub(crate) fn starts_below(steps: &[Step], roots: &[Uuid]) -> Vec<Uuid> {
    let above: HashMap<Uuid, Uuid> = steps
        .iter()
        .filter_map(|(from, to)| from.map(|from| (from, *to)))
        .collect();
    // Memo: whether the key is a root or below one.
    let mut known: HashMap<Uuid, bool> = roots.iter().map(|root| (*root, true)).collect();
    let mut starts: Vec<Uuid> = steps
        .iter()
        .filter(|(from, _)| from.is_none())
        .map(|(_, start)| *start)
        .filter(|start| is_below(*start, &above, &mut known))
        .collect();
    starts.sort_unstable();
    starts
}

fn is_below(start: Uuid, above: &HashMap<Uuid, Uuid>, known: &mut HashMap<Uuid, bool>) -> bool {
    let mut passed = vec![start];
    let mut at = start;
    let is_below = loop {
        match (known.get(&at), above.get(&at)) {
            (Some(is_below), _) => break *is_below,
            (None, Some(next)) => {
                passed.push(*next);
                at = *next;
            }
            (None, None) => break false,
        }
    };
    known.extend(passed.into_iter().map(|key| (key, is_below)));
    is_below
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{shown_of_key_tree, starts_below};

    #[test]
    fn keys_are_below_a_root_when_steps_connect_them() {
        let [root, between, one, other, elsewhere, top, alone] = [1, 2, 3, 4, 5, 6, 7].map(Uuid::from_u128);
        let steps = [
            (None, other),
            (None, one),
            (None, elsewhere),
            (None, alone),
            (None, root),
            (Some(one), between),
            (Some(other), between),
            (Some(between), root),
            (Some(elsewhere), top),
        ];
        assert_eq!(starts_below(&steps, &[root]), [root, one, other]);
        assert_eq!(starts_below(&steps, &[root, top]), [root, one, other, elsewhere]);
        assert!(starts_below(&steps, &[]).is_empty());
    }

    #[test]
    fn key_tree_is_sorted_by_rank_without_duplicates() {
        let [key, top, valid, between, below] = [1, 2, 3, 4, 5].map(Uuid::from_u128);
        let chain = [(key, 1), (top, 0)];
        let shown = |at_most| {
            let mut shown = shown_of_key_tree(
                &chain,
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
