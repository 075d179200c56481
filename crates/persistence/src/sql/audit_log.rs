//! The audit log: append-only, except that retention purges old events.

mod search;

use async_trait::async_trait;
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::OrganizationId;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{
    AuditFeed, AuditFilter, AuditLog, AuditPosition, FeedPage, FeedPosition, ReadFeedError, StorageError,
};

use super::dialect::{Store, feed};
use super::events::write_event;

#[async_trait]
impl AuditLog for Store {
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        change!(self, |connection| { Ok(write_event(connection, event).await?) })
    }

    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError> {
        read!(self, search::list(organization, filter, page))
    }
}

#[async_trait]
impl AuditFeed for Store {
    async fn events_after(
        &self,
        after: Option<FeedPosition>,
        at_most: PageSize,
    ) -> Result<FeedPage, ReadFeedError> {
        read!(self, feed::events_after(after, at_most))?
    }

    async fn last_position(&self) -> Result<Option<FeedPosition>, StorageError> {
        read!(self, feed::last_position())
    }
}
