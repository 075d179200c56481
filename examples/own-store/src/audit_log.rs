//! The audit log.

use async_trait::async_trait;
use keyward_domain::audit::{Action, AuditEvent, Outcome, RequestSource};
use keyward_domain::id::{AuditEventId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{AuditFilter, AuditLog, AuditPosition, StorageError};
use redb::WriteTransaction;
use uuid::Uuid;

use crate::columns::{Row, actor_reference, subject_reference};
use crate::store::{FileStore, failed};
use crate::tables::{EVENT_IDS, EVENTS, EventRow};

#[async_trait]
impl AuditLog for FileStore {
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        self.change(move |transaction| write(transaction, &event)).await
    }

    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError> {
        self.read(move |transaction| {
            let place = place_of(organization);
            let before = page.after.map_or((place, i64::MAX, Uuid::max()), |after| {
                (place, after.at.timestamp_millis(), after.id.as_uuid())
            });
            let events = transaction.open_table(EVENTS).map_err(failed)?;
            let older = events
                .range((place, i64::MIN, Uuid::nil())..before)
                .map_err(failed)?;
            let mut found = Vec::new();
            for stored in older.rev() {
                let (path, stored) = stored.map_err(failed)?;
                let (_, at, id) = path.value();
                let event = read(id, at, organization, stored.value())?;
                if filter.accepts(&event) {
                    found.push(event);
                }
                if found.len() > page.size.items() {
                    break;
                }
            }
            Ok(Page::from_one_more(found, page.size, |event| event.into()))
        })
        .await
    }
}

/// Writes an event in the transaction of the change that it records.
pub(crate) fn write(transaction: &WriteTransaction, event: &AuditEvent) -> Result<(), StorageError> {
    let id = event.id.as_uuid();
    let mut ids = transaction.open_table(EVENT_IDS).map_err(failed)?;
    if ids.insert(id, ()).map_err(failed)?.is_some() {
        return Err(StorageError::Defect("two events share an identifier".into()));
    }
    let address = event.source.address.map(|address| address.to_string());
    let row = (
        actor_reference(event.actor),
        event.action.as_str(),
        subject_reference(&event.subject),
        event.object.as_ref().map(subject_reference),
        (event.old_value.as_deref(), event.new_value.as_deref()),
        event.outcome.as_str(),
        address.as_deref(),
        event.source.request_id.as_deref(),
    );
    let mut events = transaction.open_table(EVENTS).map_err(failed)?;
    let path = (place_of(event.organization_id), event.at.timestamp_millis(), id);
    events.insert(path, row).map_err(failed)?;
    Ok(())
}

fn read(
    id: Uuid,
    at: i64,
    organization_id: Option<OrganizationId>,
    stored: EventRow<'_>,
) -> Result<AuditEvent, StorageError> {
    let (actor, action, subject, object, (old_value, new_value), outcome, address, request_id) = stored;
    let row = Row {
        table: "audit_events",
        id,
    };
    let address = address.map(str::parse).transpose();
    Ok(AuditEvent {
        id: AuditEventId::from_uuid(id),
        at: row.moment("at", at)?,
        organization_id,
        actor: row.actor("actor", actor)?,
        action: row.known("action", Action::from_word(action))?,
        subject: row.subject("subject", subject)?,
        object: object.map(|object| row.subject("object", object)).transpose()?,
        old_value: old_value.map(str::to_owned),
        new_value: new_value.map(str::to_owned),
        outcome: row.known("outcome", Outcome::from_word(outcome))?,
        source: RequestSource {
            address: row.valid("address", address)?,
            request_id: request_id.map(str::to_owned),
        },
    })
}

fn place_of(organization: Option<OrganizationId>) -> Uuid {
    organization.map_or(Uuid::nil(), |organization| organization.as_uuid())
}
