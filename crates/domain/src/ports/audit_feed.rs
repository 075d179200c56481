//! The audit log in the order in which it was committed.

use async_trait::async_trait;

use crate::audit::feed::{FeedPage, FeedPosition};
use crate::page::PageSize;
use crate::ports::StorageError;

/// Reads all events, those of every organization and of none, in the order in which they were committed, so
/// that a reader who remembers how far it came misses none. (Moments do not serve for that: an event's moment
/// is taken before its transaction commits, and by several clocks.)
///
/// The store MUST number each event when it is written, and MUST NOT use a number again.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait AuditFeed: Send + Sync {
    /// The events after a position by rising number, or from the first that is stored; at most this many.
    ///
    /// An event that is not among them and becomes visible later MUST get a higher number than all that were
    /// ever returned: a store in which transactions with lower numbers commit later MUST hold back the events
    /// after these.
    ///
    /// The entries and [`FeedPage::removed_through`] MUST be of one moment, so that an event that was removed
    /// before it could be among the entries is known to be missing, and no other.
    ///
    /// If the store has the event of a position, it MUST continue after that event, even if its number or log
    /// differs: events keep their identifiers when they are moved to another database. Otherwise the position
    /// MUST be one of this log whose event may have been removed; if it is not, the call fails with
    /// [`ReadFeedError::UnknownPosition`].
    async fn events_after(
        &self,
        after: Option<FeedPosition>,
        at_most: PageSize,
    ) -> Result<FeedPage, ReadFeedError>;

    /// The position of the last event that [`AuditFeed::events_after`] would return now, if there is any.
    async fn last_position(&self) -> Result<Option<FeedPosition>, StorageError>;
}

/// Why the log cannot be read on from a position.
#[derive(Debug, thiserror::Error)]
pub enum ReadFeedError {
    /// The log never had this event: it is another database, or an older backup of it was restored.
    #[error("the audit log has no event at the position {0}")]
    UnknownPosition(FeedPosition),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
