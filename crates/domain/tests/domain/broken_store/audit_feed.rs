use async_trait::async_trait;
use keyward_domain::audit::AuditEvent;
use keyward_domain::page::PageSize;
use keyward_domain::ports::{AuditFeed, AuditLog, FeedPage, FeedPosition, ReadFeedError, StorageError};

use super::{BrokenStore, Fault, List, lock, pause};

#[async_trait]
impl AuditFeed for BrokenStore {
    async fn events_after(
        &self,
        after: Option<FeedPosition>,
        at_most: PageSize,
    ) -> Result<FeedPage, ReadFeedError> {
        if self.fault == Fault::FeedsBeforeLowerNumbersCommit {
            // A reader that polls for all events must let the writers continue.
            pause().await;
        }
        if let (Fault::FindsPositionsByNumberOnly, Some(after)) = (self.fault, after) {
            return self.page_after_number(after.number).await;
        }
        let after = match self.fault {
            Fault::IgnoresCursor(List::Feed) => None,
            _ => after,
        };
        let mut page = match self.sound.events_after(after, at_most).await {
            Err(ReadFeedError::UnknownPosition(_)) if self.fault == Fault::AcceptsUnknownPositions => {
                self.sound.events_after(None, at_most).await
            }
            page => page,
        }?;
        match self.fault {
            Fault::FeedsInstallationLogOnly => {
                page.entries.retain(|(_, event)| event.organization_id.is_none());
            }
            Fault::SkipsEventAfterPosition if after.is_some() && !page.entries.is_empty() => {
                page.entries.remove(0);
            }
            Fault::ReportsNoRemovedNumbers => page.removed_through = 0,
            Fault::FeedsBeforeLowerNumbersCommit => {
                let uncommitted = lock(&self.uncommitted);
                page.entries
                    .retain(|(position, _)| !uncommitted.contains(&position.event));
            }
            _ => {}
        }
        for (_, event) in &mut page.entries {
            *event = self.event_as_read(event.clone());
        }
        Ok(page)
    }

    async fn last_position(&self) -> Result<Option<FeedPosition>, StorageError> {
        self.sound.last_position().await
    }
}

impl BrokenStore {
    async fn page_after_number(&self, number: u64) -> Result<FeedPage, ReadFeedError> {
        let mut page = self.sound.events_after(None, PageSize::EXPORT).await?;
        page.entries.retain(|(position, _)| position.number > number);
        page.after = number;
        Ok(page)
    }

    /// Gives the event its number at once, and hides it for zero, one or two pauses.
    pub(super) async fn record_and_commit_later(&self, event: AuditEvent) -> Result<(), StorageError> {
        let id = event.id;
        let turns = {
            let mut uncommitted = lock(&self.uncommitted);
            uncommitted.insert(id);
            uncommitted.len() % 3
        };
        AuditLog::record(&self.sound, event).await?;
        for _ in 0..turns {
            pause().await;
        }
        lock(&self.uncommitted).remove(&id);
        Ok(())
    }
}
