//! Which database an audit log is of.

use super::AccessRemovals;
use crate::audit::Action;
use crate::id::AuditEventId;
use crate::page::PageSize;
use crate::ports::{AuditFeed, AuditLogId, FeedPage, FeedPosition, ReadFeedError, StorageError};

impl AccessRemovals {
    /// Whether the log was printed from this database, which has all that the log has, and after it the event
    /// of an export. A restored database also has all of it if nothing happened after the backup, but not
    /// that event.
    ///
    /// # Errors
    /// The store failed, so it is unknown.
    pub async fn were_exported_from(&self, feed: &dyn AuditFeed) -> Result<bool, StorageError> {
        let Some(last) = self.last_event else {
            return Ok(false);
        };
        let mut events = self.removals.clone();
        events.push(last);
        events.sort_unstable();
        // The latest first: a restored database lacks them, and then the others do not matter.
        for event in events.into_iter().rev() {
            if events_after(feed, event.id, PageSize::ONE).await?.is_none() {
                return Ok(false);
            }
        }
        let mut after = last.id;
        while let Some(page) = events_after(feed, after, PageSize::EXPORT).await? {
            if page
                .entries
                .iter()
                .any(|(_, event)| event.action == Action::ExportAuditLog)
            {
                return Ok(true);
            }
            match page.entries.last() {
                Some((position, _)) => after = position.event,
                None => break,
            }
        }
        Ok(false)
    }
}

/// `None` if the database does not have this event.
async fn events_after(
    feed: &dyn AuditFeed,
    event: AuditEventId,
    at_most: PageSize,
) -> Result<Option<FeedPage>, StorageError> {
    // The event alone decides: no log has such a number.
    let position = FeedPosition {
        number: u64::MAX,
        log: AuditLogId(0),
        event,
    };
    match feed.events_after(Some(position), at_most).await {
        Ok(page) => Ok(Some(page)),
        Err(ReadFeedError::UnknownPosition(_)) => Ok(None),
        Err(ReadFeedError::Storage(error)) => Err(error),
    }
}
