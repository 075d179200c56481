//! Identifiers: each kind its own type, all of them UUIDv7 (RFC 9562 §5.7).

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use uuid::{Builder, Uuid};

use crate::clock::Clock;
use crate::random::Random;

/// A text that is not an identifier in its canonical, hyphenated form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an identifier: expected a hyphenated UUID")]
pub struct InvalidId;

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Takes an identifier that was made by [`IdGenerator`] back from storage.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The identifier as storage keeps it.
            pub const fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl From<NewId> for $name {
            fn from(new: NewId) -> Self {
                Self(new.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                canonical_uuid(text).map(Self)
            }
        }
    )*};
}

identifiers! {
    /// Identifies an [`Organization`](crate::organization::Organization).
    OrganizationId
    /// Identifies a [`User`](crate::user::User).
    UserId
    /// Identifies a [`Membership`](crate::membership::Membership).
    MembershipId
    /// Identifies an [`Invitation`](crate::invitation::Invitation). It gives no access.
    InvitationId
    /// Identifies a [`Project`](crate::project::Project).
    ProjectId
    /// Identifies an [`ApiKey`](crate::api_key::ApiKey). It is public and authenticates nothing.
    ApiKeyId
    /// Identifies an [`AuditEvent`](crate::audit::AuditEvent).
    AuditEventId
    /// Identifies a console [`Session`](crate::sign_in::session::Session). It authenticates nothing.
    SessionId
    /// Identifies a server that remembers verifications, from one start to its end.
    ReplicaId
}

/// Only the hyphenated form that identifiers are shown in, in either case: other spellings of a UUID name
/// nothing here.
fn canonical_uuid(text: &str) -> Result<Uuid, InvalidId> {
    const HYPHENATED: usize = 36;
    if text.len() != HYPHENATED {
        return Err(InvalidId);
    }
    Uuid::try_parse(text).map_err(|_| InvalidId)
}

/// Makes every identifier of a process, in strictly rising order.
///
/// "Newest first" is "highest identifier first", so the order must hold within one millisecond and when the
/// clock steps back: RFC 9562 §6.2, method 2 (monotonic random).
pub struct IdGenerator {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    state: Mutex<State>,
}

/// The last timestamp and counter, from which the next identifier is made.
struct State {
    last: Position,
    drawn: Drawn,
}

/// Random numbers that were drawn ahead: every request has an identifier, and the operating system is asked
/// for many at once.
struct Drawn {
    bytes: [u8; Drawn::NUMBERS * Drawn::WIDTH],
    used: usize,
}

/// The ordered parts of a UUIDv7: its milliseconds, and the 74 random bits read as one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    milliseconds: u64,
    tail: u128,
}

const TAIL_BITS: u32 = 74;
const TAIL_LIMIT: u128 = 1 << TAIL_BITS;

impl IdGenerator {
    /// A generator with the given time and randomness. A process needs one, shared by all use cases.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self {
            clock,
            random,
            state: Mutex::new(State {
                last: Position {
                    milliseconds: 0,
                    tail: 0,
                },
                drawn: Drawn::none(),
            }),
        }
    }

    /// The present moment, by the clock that identifiers are made with.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The next identifier, of the kind that the caller asks for.
    pub fn next<Id: From<NewId>>(&self) -> Id {
        let now = u64::try_from(self.clock.now().timestamp_millis()).unwrap_or(0);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let random = state.drawn.next(&*self.random);
        state.last = state.last.followed_by(now, random);
        Id::from(NewId(state.last.to_uuid()))
    }
}

impl Drawn {
    const NUMBERS: usize = 32;
    const WIDTH: usize = size_of::<u128>();

    const fn none() -> Self {
        let bytes = [0; Self::NUMBERS * Self::WIDTH];
        Self {
            used: bytes.len(),
            bytes,
        }
    }

    fn next(&mut self, random: &dyn Random) -> u128 {
        loop {
            let unused = self.bytes.get(self.used..).unwrap_or_default();
            if let Some(number) = unused.first_chunk() {
                self.used += Self::WIDTH;
                return u128::from_le_bytes(*number);
            }
            random.fill(&mut self.bytes);
            self.used = 0;
        }
    }
}

impl Position {
    fn followed_by(self, now: u64, random: u128) -> Self {
        let fresh = Self {
            milliseconds: now,
            tail: random % TAIL_LIMIT,
        };
        if now > self.milliseconds {
            return fresh;
        }
        // A random step keeps the next identifier hard to guess; 2^32 keeps an overflow out of reach in
        // practice.
        let step = (random & u128::from(u32::MAX)) + 1;
        let tail = self.tail + step;
        if tail < TAIL_LIMIT {
            Self {
                milliseconds: self.milliseconds,
                tail,
            }
        } else {
            Self {
                milliseconds: self.milliseconds + 1,
                tail: tail % TAIL_LIMIT,
            }
        }
    }

    fn to_uuid(self) -> Uuid {
        const LOW_BITS: u32 = 62;
        // The version stands above the first 12 bits of the tail, the variant above the rest.
        let tail = (self.tail >> LOW_BITS) << 64 | self.tail & ((1 << LOW_BITS) - 1);
        let [_, _, _, _, _, _, tail @ ..] = tail.to_be_bytes();
        Builder::from_unix_timestamp_millis(self.milliseconds, &tail).into_uuid()
    }
}

/// A fresh identifier of no kind yet; only [`IdGenerator`] makes one.
pub struct NewId(Uuid);

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;
    use uuid::{Uuid, Variant};

    use super::{ApiKeyId, InvalidId, Position, TAIL_LIMIT};
    use crate::clock::Clock;
    use crate::testing::Builder;

    #[test]
    fn identifier_is_uuid_version_7_with_its_millisecond() {
        let make = Builder::new(1);
        for _ in 0..100 {
            make.clock.advance(TimeDelta::milliseconds(1));
            let uuid = make.ids.next::<ApiKeyId>().as_uuid();
            assert_eq!(uuid.get_version_num(), 7);
            assert_eq!(uuid.get_variant(), Variant::RFC4122);
            let milliseconds = u64::try_from(make.clock.now().timestamp_millis()).unwrap();
            assert_eq!(u64::try_from(uuid.as_u128() >> 80).unwrap(), milliseconds);
        }
    }

    #[test]
    fn identifiers_increase_within_a_millisecond() {
        let make = Builder::new(1);
        let ids: Vec<ApiKeyId> = (0..10_000).map(|_| make.ids.next()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn identifiers_increase_when_the_clock_steps_back() {
        let make = Builder::new(1);
        let mut last: ApiKeyId = make.ids.next();
        for step in [1, -5, -3_600_000, 2, 0, 3_600_000, -1] {
            make.clock.advance(TimeDelta::milliseconds(step));
            let next = make.ids.next();
            assert!(next > last, "after a step of {step} ms");
            last = next;
        }
    }

    #[test]
    fn exhausted_millisecond_continues_in_the_next() {
        let full = Position {
            milliseconds: 7,
            tail: TAIL_LIMIT - 1,
        };
        let next = full.followed_by(7, 0);
        assert_eq!(next.milliseconds, 8);
        assert!(next.to_uuid() > full.to_uuid());
    }

    #[test]
    fn identifier_contains_every_random_bit() {
        let shown = |tail| {
            let milliseconds = 0x0123_4567_89ab;
            Position { milliseconds, tail }.to_uuid().to_string()
        };
        assert_eq!(shown(0), "01234567-89ab-7000-8000-000000000000");
        assert_eq!(shown(TAIL_LIMIT - 1), "01234567-89ab-7fff-bfff-ffffffffffff");
    }

    #[test]
    fn identifier_round_trips_through_text() {
        let id: ApiKeyId = Builder::new(1).ids.next();
        let shown = id.to_string();
        assert_eq!(shown.parse(), Ok(id));
        assert_eq!(ApiKeyId::from_uuid(id.as_uuid()), id);
        // Some languages write all UUIDs in upper case.
        assert_eq!(shown.to_uppercase().parse(), Ok(id));
    }

    #[test]
    fn other_uuid_spellings_are_rejected() {
        let uuid = Uuid::from_u128(1 << 100);
        for text in [
            uuid.simple().to_string(),
            uuid.braced().to_string(),
            uuid.urn().to_string(),
            format!(" {uuid}"),
            format!("{uuid} "),
            "current".to_owned(),
            String::new(),
            "g".repeat(36),
            "é".repeat(18),
        ] {
            assert_eq!(text.parse::<ApiKeyId>(), Err(InvalidId), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::property_tests::config())]

        #[test]
        fn positions_always_increase(
            milliseconds in 0_u64..1 << 47,
            tail in 0..TAIL_LIMIT,
            now in 0_u64..1 << 47,
            random in any::<u128>(),
        ) {
            let position = Position { milliseconds, tail };
            let next = position.followed_by(now, random);
            prop_assert!(next > position);
            prop_assert!(next.to_uuid() > position.to_uuid());
        }

        #[test]
        fn any_text_is_parsed_or_rejected_without_panic(text in any::<String>()) {
            prop_assert_eq!(text.parse::<ApiKeyId>(), Err(InvalidId));
        }
    }
}
