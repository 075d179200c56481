//! The audit log in commit order, as far as both databases share it.

use keyward_domain::audit::AuditEvent;
use keyward_domain::id::AuditEventId;
use keyward_domain::ports::{AuditLogId, FeedPage, FeedPosition, ReadFeedError, StorageError};

/// The state of the database's audit log, and what it knows of the requested position.
pub(crate) struct LogState {
    pub(crate) log: AuditLogId,
    /// The highest number of an event that retention has removed.
    pub(crate) removed_through: i64,
    /// The number of the event at the position, if it still exists.
    pub(crate) found: Option<i64>,
}

/// [`LogState::removed_through`] as a column of the statement that reads events, so that both come from one
/// snapshot.
pub(crate) const REMOVED_THROUGH: &str = "(SELECT removed_through FROM audit_feed)";

impl LogState {
    /// The number after which to read on; 0 for the beginning.
    pub(crate) fn number_of(&self, position: Option<FeedPosition>) -> Result<i64, ReadFeedError> {
        let Some(position) = position else {
            return Ok(0);
        };
        let of_removed = || {
            let number = i64::try_from(position.number).ok()?;
            (position.log == self.log && number <= self.removed_through).then_some(number)
        };
        self.found
            .or_else(of_removed)
            .ok_or(ReadFeedError::UnknownPosition(position))
    }

    pub(crate) fn position(&self, number: i64, event: AuditEventId) -> FeedPosition {
        FeedPosition {
            number: unsigned(number),
            log: self.log,
            event,
        }
    }
}

/// The page of events that follow a number.
pub(crate) fn page(
    log: &LogState,
    after: i64,
    events: impl IntoIterator<Item = (i64, Result<AuditEvent, StorageError>)>,
) -> Result<FeedPage, StorageError> {
    let entry = |(number, event): (i64, Result<AuditEvent, StorageError>)| {
        let event = event?;
        Ok((log.position(number, event.id), event))
    };
    let entries: Result<Vec<_>, StorageError> = events.into_iter().map(entry).collect();
    Ok(FeedPage {
        entries: entries?,
        after: unsigned(after),
        removed_through: unsigned(log.removed_through),
    })
}

/// The name of a log as it is stored: eight hexadecimal digits.
pub(crate) fn log_id(stored: &str) -> Result<AuditLogId, StorageError> {
    match u32::from_str_radix(stored, 16) {
        Ok(id) => Ok(AuditLogId(id)),
        Err(error) => Err(StorageError::Defect(error.into())),
    }
}

/// Numbers are never negative.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
