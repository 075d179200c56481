use std::cmp::Reverse;

use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::AuditEvent;
use crate::id::{AuditEventId, OrganizationId};
use crate::page::{Page, PageRequest};
use crate::ports::{AuditLog, StorageError};

#[async_trait]
impl AuditLog for MemoryStore {
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        self.state()?.write(vec![event])
    }

    async fn list(
        &self,
        organization: Option<OrganizationId>,
        page: PageRequest<AuditEventId>,
    ) -> Result<Page<AuditEvent, AuditEventId>, StorageError> {
        let state = self.state()?;
        let of_organization = state
            .events
            .iter()
            .filter(|event| event.organization_id == organization);
        let mut events: Vec<AuditEvent> = of_organization
            .filter(|event| page.after.is_none_or(|after| event.id < after))
            .cloned()
            .collect();
        events.sort_by_key(|event| Reverse(event.id));
        events.truncate(page.size.items() + 1);
        Ok(Page::from_one_more(events, page.size, |event| event.id))
    }
}
