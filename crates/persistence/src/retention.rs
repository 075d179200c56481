//! What both databases have in common when they remove what is kept no longer.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::limit::at_most;

/// The most keys that one removal gives another key to be below of. Few consumers have as many keys in all.
const MOST_ADOPTIONS: usize = 2_000;

/// A key, and the one that it is next below of, if there is any.
pub(crate) type Below = (Uuid, Option<Uuid>);

/// A key of a consumer.
pub(crate) struct KeyOf {
    pub(crate) consumer: Uuid,
    pub(crate) below: Below,
}

/// Leaves only the first half of the dead keys if more keys are next below them than one removal gives to others. Says
/// whether it did. One key goes however many are below it.
pub(crate) fn halve_if_too_many(dead: &mut Vec<Below>, next_below: &[(Uuid, Uuid)]) -> bool {
    let are_too_many = next_below.len() > MOST_ADOPTIONS && dead.len() > 1;
    if are_too_many {
        dead.truncate(dead.len() / 2);
    }
    are_too_many
}

/// Of former members, in the order in which keys of theirs were asked for, those of whom none is left when the found ones are
/// removed. `last` holds the last of the found keys, if there may be more.
pub(crate) fn left_without_keys(former_members: Vec<Uuid>, last: Option<Uuid>) -> Vec<Uuid> {
    let has_more = |member: &Uuid| Some(*member) != last;
    former_members.into_iter().take_while(has_more).collect()
}

/// What one transaction did for the removal of dead keys.
#[derive(Default)]
pub(crate) struct Portion {
    pub(crate) removed: u32,
    /// It only found that former members have no keys left. Others may have some.
    pub(crate) is_to_go_on: bool,
}

/// What one server at a time does. Its number names an advisory lock of PostgreSQL; SQLite's file has one writer anyway.
#[derive(Clone, Copy)]
#[repr(i64)]
pub(crate) enum Turn {
    /// ASCII: `keys go`.
    DeadKeys = 0x006b_6579_7320_676f,
    /// ASCII: `logs go`.
    AuditEvents = 0x006c_6f67_7320_676f,
    /// ASCII: `clock go`.
    Clock = 0x636c_6f63_6b20_676f,
}

/// How many keys next below these to ask for. Below several, there is no need to know more than that they are too many.
pub(crate) fn most_next_below(dead: &[Below]) -> i64 {
    match dead.len() {
        0 | 1 => i64::MAX,
        _ => at_most(MOST_ADOPTIONS + 1),
    }
}

/// For each of some keys next below removed ones, the nearest key above it that is not removed, if there is any. That
/// one may have been removed before.
pub(crate) fn adoptions(removed: &[Below], next_below: &[(Uuid, Uuid)]) -> Vec<Below> {
    let removed: HashMap<Uuid, Option<Uuid>> = removed.iter().copied().collect();
    let adoption = |&(key, next_above): &(Uuid, Uuid)| {
        let mut above = Some(next_above);
        // Rows that a careless hand made may point at each other in a circle, from which no step leads out.
        for _ in 0..=removed.len() {
            match above.and_then(|above| removed.get(&above)) {
                Some(next) => above = *next,
                None => return (key, above),
            }
        }
        (key, None)
    };
    next_below.iter().map(adoption).collect()
}

/// What every UUIDv7 from before the millisecond of this moment is less than, and none from then on; nothing if there are
/// no UUIDv7 from before it.
pub(crate) fn least_id_at(moment: DateTime<Utc>) -> Option<Uuid> {
    const MILLISECONDS: u32 = 48;
    let milliseconds = u128::try_from(moment.timestamp_millis()).ok()?;
    let most = (1 << MILLISECONDS) - 1;
    Some(Uuid::from_u128(
        milliseconds.min(most) << (u128::BITS - MILLISECONDS),
    ))
}

/// After an import the newest event that came with it stands for the last look at the clock: that it is read in now says
/// nothing of this machine's clock. On both databases.
pub(crate) const LAST_LOOK_OF_IMPORT: &str = "
    UPDATE retention_clock SET believed_at = newest.occurred_at
    FROM (SELECT occurred_at FROM audit_events ORDER BY id DESC LIMIT 1) AS newest";

/// As the port counts: no more than it asked for, which fits.
pub(crate) fn counted(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[test]
    fn the_nearest_key_that_is_kept_adopts() {
        let removed = [
            (key(2), Some(key(1))),
            (key(3), Some(key(2))),
            (key(4), Some(key(3))),
            (key(9), None),
        ];
        let next_below = [(key(5), key(4)), (key(6), key(2)), (key(10), key(9))];
        assert_eq!(
            adoptions(&removed, &next_below),
            [(key(5), Some(key(1))), (key(6), Some(key(1))), (key(10), None)]
        );
    }

    #[test]
    fn nobody_in_a_circle_adopts() {
        let removed = [(key(1), Some(key(2))), (key(2), Some(key(1)))];
        assert_eq!(adoptions(&removed, &[(key(3), key(1))]), [(key(3), None)]);
    }

    #[test]
    fn former_members_from_the_last_found_key_on_may_have_more() {
        let members = || vec![key(1), key(2), key(3)];
        assert_eq!(left_without_keys(members(), Some(key(2))), [key(1)]);
        assert!(left_without_keys(members(), Some(key(1))).is_empty());
        assert_eq!(left_without_keys(members(), None), members());
        // Somebody who is not among them yet left after them.
        assert_eq!(left_without_keys(members(), Some(key(4))), members());
    }

    #[test]
    fn identifiers_are_told_apart_by_their_millisecond() {
        let moment = |text: &str| -> DateTime<Utc> { text.parse().unwrap() };
        let least = least_id_at(moment("2026-01-01T00:00:00.5Z")).unwrap();
        let first: Uuid = "019b76da-a9f4-7000-8000-000000000000".parse().unwrap();
        let last_before: Uuid = "019b76da-a9f3-7fff-bfff-ffffffffffff".parse().unwrap();
        assert!(last_before < least && least <= first, "{least}");
        // Later within the millisecond: what happened in it stays.
        assert_eq!(least_id_at(moment("2026-01-01T00:00:00.500999Z")), Some(least));
        assert_eq!(least_id_at(moment("1969-12-31T23:59:59Z")), None);
        let end_of_time = least_id_at(DateTime::<Utc>::MAX_UTC).unwrap();
        assert!(end_of_time < Uuid::max() && end_of_time > least);
    }
}
