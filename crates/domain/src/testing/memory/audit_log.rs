use std::cmp::Reverse;

use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::AuditEvent;
use crate::id::OrganizationId;
use crate::page::{Page, PageRequest};
use crate::ports::{AuditFilter, AuditLog, AuditPosition, StorageError};

#[async_trait]
impl AuditLog for MemoryStore {
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        self.state()?.write(vec![event])
    }

    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError> {
        let state = self.state()?;
        let mut events: Vec<AuditEvent> = state
            .events
            .iter()
            .filter(|event| event.organization_id == organization && filter.accepts(event))
            .filter(|event| page.after.is_none_or(|after| AuditPosition::from(*event) < after))
            .cloned()
            .collect();
        events.sort_by_key(|event| Reverse(AuditPosition::from(event)));
        events.truncate(page.size.items() + 1);
        Ok(Page::from_one_more(events, page.size, |event| event.into()))
    }
}
