//! Purging, as far as both databases share it.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// The maximum number of children to which one transaction gives a new parent. Few consumers have that many
/// keys in all.
pub(crate) const MAX_REPARENTED_KEYS: usize = 2_000;

/// A key and its effective parent, if any.
pub(crate) type KeyAndParent = (Uuid, Option<Uuid>);

/// A key of a consumer.
pub(crate) struct KeyOf {
    pub(crate) consumer: Uuid,
    pub(crate) below: KeyAndParent,
}

/// Keeps only the first half of the dead keys; returns whether that is fewer.
pub(crate) fn halve_batch(dead: &mut Vec<KeyAndParent>) -> bool {
    let found = dead.len();
    dead.truncate(found.div_ceil(2));
    dead.len() < found
}

/// Removes from the batch each dead key that is not locked, or has a child that is not locked; returns
/// whether it removed any.
pub(crate) fn drop_held(
    locked: &HashSet<Uuid>,
    dead: &mut Vec<KeyAndParent>,
    children: &[(Uuid, Uuid)],
) -> bool {
    let above_held = children.iter().filter(|(child, _)| !locked.contains(child));
    let above_held: HashSet<Uuid> = above_held.map(|(_, above)| *above).collect();
    let found = dead.len();
    dead.retain(|(id, _)| locked.contains(id) && !above_held.contains(id));
    dead.len() < found
}

/// The former members who have no keys left once the found keys are purged. They are in the order in which
/// their keys were queried; `last` is the consumer of the last found key, if there may be more keys.
pub(crate) fn left_without_keys(former_members: Vec<Uuid>, last: Option<Uuid>) -> Vec<Uuid> {
    let has_more = |member: &Uuid| Some(*member) != last;
    former_members.into_iter().take_while(has_more).collect()
}

/// The result of one transaction of the purge of keys.
#[derive(Default)]
pub(crate) struct PurgedBatch {
    pub(crate) removed: u32,
    /// It removed no key yet, but made the changes before that: it recorded former members without keys, or
    /// gave children a new parent.
    pub(crate) must_continue: bool,
}

/// Tasks that one server at a time performs. The value is the key of a PostgreSQL advisory lock; SQLite has a
/// single writer anyway.
#[derive(Clone, Copy)]
#[repr(i64)]
pub(crate) enum AdvisoryLock {
    /// ASCII: `keys go`.
    DeadKeys = 0x006b_6579_7320_676f,
    /// ASCII: `logs go`.
    AuditEvents = 0x006c_6f67_7320_676f,
    /// ASCII: `ends due`.
    PlannedEnds = 0x656e_6473_2064_7565,
    /// ASCII: `clock go`.
    Clock = 0x636c_6f63_6b20_676f,
}

/// The nearest ancestor that stays of each key that is purged now, if there is one.
///
/// The children of a key without any stay below the purged key: without an adoptive parent, a successor would
/// come below the key that created it, which never was above it.
pub(crate) fn adoptive_parents(removed: &[KeyAndParent]) -> HashMap<Uuid, Uuid> {
    let parents: HashMap<Uuid, Option<Uuid>> = removed.iter().copied().collect();
    let nearest = |&(key, parent): &KeyAndParent| {
        let mut above = parent;
        // Bounded, because rows edited by hand may form a cycle.
        for _ in 0..=parents.len() {
            match above.and_then(|above| parents.get(&above)) {
                Some(next) => above = *next,
                None => return above.map(|above| (key, above)),
            }
        }
        None
    };
    removed.iter().filter_map(nearest).collect()
}

/// The new parent of each child, of which no more get one than one transaction may give.
pub(crate) fn new_parents(
    children: &[(Uuid, Uuid)],
    adoptive_parents: &HashMap<Uuid, Uuid>,
) -> Vec<(Uuid, Uuid)> {
    let children = children.iter().take(MAX_REPARENTED_KEYS);
    children
        .filter_map(|(child, purged)| Some((*child, *adoptive_parents.get(purged)?)))
        .collect()
}

/// The smallest UUIDv7 of the millisecond of this time; `None` before 1970.
pub(crate) fn least_id_at(moment: DateTime<Utc>) -> Option<Uuid> {
    const MILLISECONDS: u32 = 48;
    let milliseconds = u128::try_from(moment.timestamp_millis()).ok()?;
    let most = (1 << MILLISECONDS) - 1;
    Some(Uuid::from_u128(
        milliseconds.min(most) << (u128::BITS - MILLISECONDS),
    ))
}

/// After an import, the newest imported event is used as the last trusted time: that the import runs now does
/// not confirm this machine's clock. Used on both databases.
pub(crate) const RESET_RETENTION_CLOCK: &str = "
    UPDATE retention_clock SET believed_at = newest.occurred_at
    FROM (SELECT occurred_at FROM audit_events ORDER BY id DESC LIMIT 1) AS newest";

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[test]
    fn nearest_retained_ancestor_adopts_children() {
        let removed = [
            (key(2), Some(key(1))),
            (key(3), Some(key(2))),
            (key(4), Some(key(3))),
            (key(9), None),
        ];
        let adoptive_parents = adoptive_parents(&removed);
        assert_eq!(
            adoptive_parents,
            [2, 3, 4].map(|number| (key(number), key(1))).into()
        );
        let children = [(key(5), key(4)), (key(6), key(2)), (key(10), key(9))];
        assert_eq!(
            new_parents(&children, &adoptive_parents),
            [(key(5), key(1)), (key(6), key(1))]
        );
    }

    #[test]
    fn circular_ancestry_yields_no_parent() {
        let removed = [(key(1), Some(key(2))), (key(2), Some(key(1)))];
        assert_eq!(adoptive_parents(&removed), HashMap::new());
    }

    #[test]
    fn batch_is_halved_down_to_one_key() {
        let mut dead = vec![(key(1), None), (key(2), None), (key(3), None)];
        assert!(halve_batch(&mut dead) && halve_batch(&mut dead));
        assert_eq!(dead, [(key(1), None)]);
        assert!(!halve_batch(&mut dead));
    }

    #[test]
    fn dead_keys_leave_the_batch_unless_locked_with_their_children() {
        let all = [(key(2), Some(key(1))), (key(3), Some(key(2))), (key(5), None)];
        let mut dead = all.to_vec();
        let children = [(key(4), key(3))];
        let locked = HashSet::from([key(2), key(3)]);
        assert!(drop_held(&locked, &mut dead, &children));
        assert_eq!(dead, all[..1], "one has a held child, one is held");
        // The key that was dropped is a child now.
        assert!(!drop_held(&locked, &mut dead, &[(key(3), key(2))]));
        assert_eq!(dead, all[..1]);
    }

    #[test]
    fn former_members_from_the_last_found_key_may_have_more() {
        let members = || vec![key(1), key(2), key(3)];
        assert_eq!(left_without_keys(members(), Some(key(2))), [key(1)]);
        assert!(left_without_keys(members(), Some(key(1))).is_empty());
        assert_eq!(left_without_keys(members(), None), members());
        // Members who left later are not in the list yet.
        assert_eq!(left_without_keys(members(), Some(key(4))), members());
    }

    #[test]
    fn identifiers_are_compared_by_their_millisecond() {
        let moment = |text: &str| -> DateTime<Utc> { text.parse().unwrap() };
        let least = least_id_at(moment("2026-01-01T00:00:00.5Z")).unwrap();
        let first: Uuid = "019b76da-a9f4-7000-8000-000000000000".parse().unwrap();
        let last_before: Uuid = "019b76da-a9f3-7fff-bfff-ffffffffffff".parse().unwrap();
        assert!(last_before < least && least <= first, "{least}");
        // A later time within the same millisecond gives the same result.
        assert_eq!(least_id_at(moment("2026-01-01T00:00:00.500999Z")), Some(least));
        assert_eq!(least_id_at(moment("1969-12-31T23:59:59Z")), None);
        let end_of_time = least_id_at(DateTime::<Utc>::MAX_UTC).unwrap();
        assert!(end_of_time < Uuid::max() && end_of_time > least);
    }
}
