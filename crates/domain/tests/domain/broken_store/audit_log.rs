use async_trait::async_trait;
use keyward_domain::audit::{Action, AuditEvent, Subject};
use keyward_domain::id::OrganizationId;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{AuditFilter, AuditLog, AuditPosition, StorageError};

use super::{BrokenStore, Fault, List, lock};

#[async_trait]
impl AuditLog for BrokenStore {
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        match self.fault {
            Fault::FeedsBeforeLowerNumbersCommit => self.record_and_commit_later(event).await,
            _ => AuditLog::record(&self.sound, event).await,
        }
    }

    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError> {
        let is_filtered = filter != AuditFilter::default();
        let ask = |page| AuditLog::list(&self.sound, organization, filter, page);
        let Page { items, next } = self.page(List::Events, is_filtered, page, ask).await?;
        let items = items
            .into_iter()
            // Hiding an event has the same effect for readers as not writing it.
            .filter(|event| self.fault != Fault::OmitsEventsOf(event.action))
            .map(|event| self.event_as_read(self.with_its_author(event)))
            .collect();
        Ok(Page { items, next })
    }
}

impl BrokenStore {
    fn with_its_author(&self, event: AuditEvent) -> AuditEvent {
        let author = match (event.action, event.subject) {
            (Action::RevokeApiKey, Subject::ApiKey(key)) => lock(&self.revokers).get(&key).copied(),
            (Action::CreateProject, Subject::Project(project)) => lock(&self.creators).get(&project).copied(),
            _ => None,
        };
        AuditEvent {
            actor: author.unwrap_or(event.actor),
            ..event
        }
    }
}
