//! Limits of the audit events that failed attempts cause.

use chrono::TimeDelta;

use super::ThrottleBucket;
use crate::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use crate::rate::Rate;

/// A limit of the events that failed attempts cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventLimit {
    /// Wrong passwords at sign-in with the username of this user.
    WrongPasswords(UserId),
    /// Attempts at the password of a user that were not checked.
    UncheckedAttempts(UserId),
    /// Wrong current passwords of a user who wants another. Only a client with their session can cause these,
    /// so strangers cannot hide them.
    WrongCurrentPasswords(UserId),
    /// Attempts at the current password of a user who wants another that were not checked.
    UncheckedCurrentPasswords(UserId),
    /// Attempts that were not checked because this bucket, of an address, was full.
    UncheckedFrom(ThrottleBucket),
    /// Usernames that no user has.
    UnknownUsername,
    /// Uses of a key that no longer works.
    RefusedUses {
        /// The key that was revoked or whose membership has ended.
        of: ApiKeyId,
        /// The consumer whose key it was, so that nobody hides uses of the keys of others.
        consumer: MembershipId,
        /// In whose log its use is recorded.
        within: OrganizationId,
    },
    /// Events which report that more ended keys of an organization were used than were recorded one by one.
    MoreRefusedUses(OrganizationId),
}

impl EventLimit {
    /// How long it takes until the next is written of those that are written once an hour.
    pub const ONCE_AN_HOUR: TimeDelta = TimeDelta::hours(1);

    /// From which buckets such an event is taken: the narrowest first.
    #[must_use]
    pub fn buckets(self) -> Vec<ThrottleBucket> {
        let of = ThrottleBucket::of;
        match self {
            Self::WrongPasswords(user) => vec![of("refusals", user.as_uuid().as_bytes(), REFUSALS)],
            Self::UncheckedAttempts(user) => vec![of("limits", user.as_uuid().as_bytes(), ONE_AN_HOUR)],
            Self::WrongCurrentPasswords(user) => {
                vec![of("current refusals", user.as_uuid().as_bytes(), REFUSALS)]
            }
            Self::UncheckedCurrentPasswords(user) => {
                vec![of("current limits", user.as_uuid().as_bytes(), ONE_AN_HOUR)]
            }
            Self::UncheckedFrom(full) => {
                vec![
                    of("limits by", full.as_bytes(), ONE_AN_HOUR),
                    Self::of_unknown_usernames(),
                ]
            }
            Self::UnknownUsername => vec![Self::of_unknown_usernames()],
            Self::RefusedUses {
                of: key,
                consumer,
                within,
            } => vec![
                of("refused uses of", key.as_uuid().as_bytes(), ONE_AN_HOUR),
                of("refused uses by", consumer.as_uuid().as_bytes(), OF_CONSUMER),
                of("refused uses in", within.as_uuid().as_bytes(), OF_ORGANIZATION),
            ],
            Self::MoreRefusedUses(within) => {
                vec![of(
                    "more refused uses in",
                    within.as_uuid().as_bytes(),
                    ONE_AN_HOUR,
                )]
            }
        }
    }

    fn of_unknown_usernames() -> ThrottleBucket {
        // The name is part of the stored bucket, so it must not change.
        ThrottleBucket::of("refusals of nobody", &[], OF_UNKNOWN_USERNAMES)
    }
}

const REFUSALS: Rate = Rate::new(20, TimeDelta::hours(1));
const ONE_AN_HOUR: Rate = Rate::new(1, EventLimit::ONCE_AN_HOUR);
/// A program may hold many keys, and a thief uses each of them.
const OF_CONSUMER: Rate = Rate::new(100, TimeDelta::seconds(36));
/// As many as of ten consumers.
const OF_ORGANIZATION: Rate = Rate::new(1_000, TimeDelta::milliseconds(3_600));
const OF_UNKNOWN_USERNAMES: Rate = Rate::new(60, TimeDelta::minutes(10));
