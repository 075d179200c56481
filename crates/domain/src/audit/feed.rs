//! The audit log in the order of commits, and the position of a follower in it.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use uuid::Uuid;

use super::AuditEvent;
use crate::id::AuditEventId;

/// The position of an event in the order of commits. As text it is opaque to readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedPosition {
    /// The event's number: higher than those of all events that were committed before it.
    pub number: u64,
    /// The log that gave the number. A copy of a database has the same; one that was imported has another.
    pub log: AuditLogId,
    /// The event. The number may belong to another one after a backup was restored.
    pub event: AuditEventId,
}

/// Which numbers are meant: those of one database's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditLogId(pub u32);

impl Display for FeedPosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let event = self.event.as_uuid();
        write!(f, "{}-{:08x}-{}", self.number, self.log.0, event.as_simple())
    }
}

impl FromStr for FeedPosition {
    type Err = InvalidFeedPosition;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (number, rest) = text.split_once('-')?;
            let (log, event) = rest.split_once('-')?;
            Some(Self {
                number: number.parse().ok()?,
                log: AuditLogId(u32::from_str_radix(log, 16).ok()?),
                event: AuditEventId::from_uuid(Uuid::try_parse(event).ok()?),
            })
        };
        // Written in one way only, so that a position that was cut off or altered is noticed.
        read()
            .filter(|position| position.to_string() == text)
            .ok_or(InvalidFeedPosition)
    }
}

/// A text that is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the `position` of a printed event")]
pub struct InvalidFeedPosition;

/// Events in the order of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The events, each with its position.
    pub entries: Vec<(FeedPosition, AuditEvent)>,
    /// The number after which these are, as this log has it; 0 for the beginning.
    pub after: u64,
    /// The highest number of an event that was removed for its age when the entries were read; 0 if none was.
    pub removed_through: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "1234-0a1b2c3d-0198c0de00007000800000000000abcd";

    #[test]
    fn position_round_trips_through_text() {
        let position: FeedPosition = TEXT.parse().unwrap();
        assert_eq!(position.number, 1234);
        assert_eq!(position.log, AuditLogId(0x0a1b_2c3d));
        assert_eq!(position.to_string(), TEXT);
    }

    #[test]
    fn invalid_position_is_rejected() {
        for text in [
            "",
            "1234",
            "1234-0a1b2c3d",
            "+1234-0a1b2c3d-0198c0de00007000800000000000abcd",
            "01234-0a1b2c3d-0198c0de00007000800000000000abcd",
            "1234-a1b2c3d-0198c0de00007000800000000000abcd",
            "1234-0a1b2c3d-0198c0de00007000800000000000abc",
            "1234-0a1b2c3d-0198c0de-0000-7000-8000-00000000abcd",
            "1234-0A1B2C3D-0198c0de00007000800000000000abcd",
            "18446744073709551616-0a1b2c3d-0198c0de00007000800000000000abcd",
        ] {
            assert_eq!(text.parse::<FeedPosition>(), Err(InvalidFeedPosition), "{text}");
        }
    }
}
