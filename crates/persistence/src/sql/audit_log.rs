//! What happened: only ever added to, until retention removes what is old enough.

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
use crate::abort::Abort;

#[async_trait]
impl AuditLog for Store {
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        self.change(move |connection| {
            Box::pin(async move { Ok::<_, Abort<_>>(write_event(connection, event).await?) })
        })
        .await
    }

    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError> {
        self.read(move |connection| Box::pin(search::list(connection, organization, filter, page)))
            .await
    }
}

#[async_trait]
impl AuditFeed for Store {
    async fn events_after(
        &self,
        after: Option<FeedPosition>,
        at_most: PageSize,
    ) -> Result<FeedPage, ReadFeedError> {
        self.read(move |connection| Box::pin(feed::events_after(connection, after, at_most)))
            .await?
    }

    async fn last_position(&self) -> Result<Option<FeedPosition>, StorageError> {
        self.read(|connection| Box::pin(feed::last_position(connection)))
            .await
    }
}
