//! Which keys came from which, worked out from the bottom up: a key has one next above it, and may have any number below.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

/// A key, the one next above it, and whether it is valid.
pub(crate) type Link = (Uuid, Option<Uuid>, bool);

/// Some keys, each with the one next above it.
pub(crate) struct Lineage(HashMap<Uuid, (Option<Uuid>, bool)>);

impl Lineage {
    pub(crate) fn new(links: impl IntoIterator<Item = Link>) -> Self {
        let links = links.into_iter();
        Self(
            links
                .map(|(key, above, is_valid)| (key, (above, is_valid)))
                .collect(),
        )
    }

    /// The key and what it came from, upwards. In rows that a careless hand made to point at each other in a circle,
    /// this has no end.
    pub(crate) fn upwards(&self, key: Uuid) -> impl Iterator<Item = Uuid> {
        let known = |key: Uuid| self.0.contains_key(&key).then_some(key);
        std::iter::successors(known(key), move |key| {
            let (above, _) = self.0.get(key)?;
            above.and_then(known)
        })
    }

    /// The valid keys among these and what came from them, by rising identifier. Each key is looked at once.
    pub(crate) fn valid_from(&self, roots: impl IntoIterator<Item = Uuid>) -> Vec<Uuid> {
        let roots = roots.into_iter().filter(|root| self.0.contains_key(root));
        let mut is_from: HashMap<Uuid, bool> = roots.map(|root| (root, true)).collect();
        let valid = self.0.iter().filter(|(_, (_, is_valid))| *is_valid);
        let mut found: Vec<Uuid> = valid
            .map(|(key, _)| *key)
            .filter(|key| {
                let mut passed = Vec::new();
                let mut answer = false;
                for key in self.upwards(*key) {
                    if let Some(known) = is_from.get(&key) {
                        answer = *known;
                        break;
                    }
                    // Until it is known better: so a circle ends here, too.
                    is_from.insert(key, false);
                    passed.push(key);
                }
                is_from.extend(passed.into_iter().map(|key| (key, answer)));
                answer
            })
            .collect();
        found.sort_unstable();
        found
    }
}

/// Of a family that is too large to show, what [`OrganizationKeyStore::family`] puts first.
///
/// The line is the key that was asked for and its ancestors, the uppermost last; below are keys that came from that one.
///
/// [`OrganizationKeyStore::family`]: keyward_domain::administration::ports::OrganizationKeyStore::family
pub(crate) fn shown_of_family(line: &[Uuid], lineage: &Lineage, below: &[Uuid], at_most: usize) -> Vec<Uuid> {
    let mut shown: HashSet<Uuid> = HashSet::new();
    let mut show = |key: Uuid| (shown.len() < at_most || shown.contains(&key)) && shown.insert(key);
    for key in line {
        show(*key);
    }
    let valid = lineage.valid_from(line.last().copied());
    for key in &valid {
        show(*key);
    }
    for key in &valid {
        // Above the first that is there already, all are.
        for above in lineage.upwards(*key).skip(1) {
            if !show(above) {
                break;
            }
        }
    }
    for key in below {
        show(*key);
    }
    shown.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{Lineage, Link};

    fn link(key: u128, above: Option<u128>, is_valid: bool) -> Link {
        (Uuid::from_u128(key), above.map(Uuid::from_u128), is_valid)
    }

    fn valid_from(lineage: &Lineage, roots: &[u128]) -> Vec<u128> {
        let roots = roots.iter().copied().map(Uuid::from_u128);
        lineage.valid_from(roots).iter().map(Uuid::as_u128).collect()
    }

    #[test]
    fn what_came_from_a_key_is_found_through_keys_in_whatever_state() {
        let lineage = Lineage::new([
            link(1, None, false),
            link(2, Some(1), false),
            link(3, Some(2), true),
            link(4, Some(1), true),
            link(5, Some(99), true),
        ]);
        assert_eq!(valid_from(&lineage, &[1]), [3, 4]);
        assert_eq!(valid_from(&lineage, &[2, 4]), [3, 4]);
        assert_eq!(valid_from(&lineage, &[3]), [3]);
        assert_eq!(valid_from(&lineage, &[99]), [], "it is none of these");
    }

    #[test]
    fn a_circle_is_gone_through_once() {
        let circle = [
            link(1, Some(3), true),
            link(2, Some(1), true),
            link(3, Some(2), true),
        ];
        let lineage = Lineage::new(
            circle
                .into_iter()
                .chain([link(4, Some(2), true), link(5, None, true)]),
        );
        assert_eq!(valid_from(&lineage, &[2]), [1, 2, 3, 4]);
        assert_eq!(valid_from(&lineage, &[5]), [5]);
    }
}
