//! Whether an audit log was printed from this database or from one that it replaced.

use super::AccessRemovals;
use crate::audit::{Action, AuditEvent};
use crate::id::AuditEventId;
use crate::page::PageSize;
use crate::ports::{AuditFeed, AuditLogId, FeedPage, FeedPosition, ReadFeedError, StorageError};

impl AccessRemovals {
    /// Whether this database has all events of the log, and later ones that `is_of_log` accepts: then the log
    /// was printed from this database, or ends before the backup. The event of an export counts as a later
    /// one: it follows the log or, if the log was followed, is in it. If nothing happened after the backup, a
    /// restored database has all events of the log and no later ones.
    ///
    /// # Errors
    /// The store failed, so it is unknown.
    pub async fn end_within(
        &self,
        feed: &dyn AuditFeed,
        is_of_log: impl Fn(&AuditEvent) -> bool,
    ) -> Result<bool, StorageError> {
        let Some(last) = self.last_event else {
            return Ok(false);
        };
        let mut events = self.removals.clone();
        events.push(last.position);
        events.sort_unstable();
        // The latest first: a restored database lacks these, so the others need not be read.
        for event in events.into_iter().rev() {
            if events_after(feed, event.id, PageSize::ONE).await?.is_none() {
                return Ok(false);
            }
        }
        if last.is_export {
            return Ok(true);
        }
        let mut after = last.position.id;
        while let Some(page) = events_after(feed, after, PageSize::EXPORT).await? {
            if page
                .entries
                .iter()
                .any(|(_, event)| event.action == Action::ExportAuditLog || is_of_log(event))
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
    // No log has this number, so that only the event decides.
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
