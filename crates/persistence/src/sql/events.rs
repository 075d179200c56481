//! Stored audit events: a module of each adapter beside [`sql`](super::sql), because the adapters' own
//! queries use it too.

use std::net::IpAddr;

use diesel::QueryResult;
use diesel::prelude::{Insertable, Queryable, Selectable};
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::id::{AuditEventId, OrganizationId};
use keyward_domain::ports::StorageError;

use super::dialect::{Database, Pipelined, RunQueryDsl};
use super::schema::audit_events;
use crate::columns::{StoredId, StoredMoment};
use crate::noted_changes;
use crate::stored_row::StoredRow;

/// Writes an event in the transaction of the change it records.
pub(crate) async fn write_event(mut connection: Pipelined<'_>, event: AuditEvent) -> QueryResult<()> {
    noted_changes::note(&event);
    diesel::insert_into(audit_events::table)
        .values(EventRow::from(event))
        .execute(&mut connection)
        .await?;
    Ok(())
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_events, check_for_backend(Database), treat_none_as_default_value = false)]
pub(crate) struct EventRow {
    pub(crate) id: StoredId,
    pub(crate) occurred_at: StoredMoment,
    organization_id: Option<StoredId>,
    actor_kind: String,
    actor_id: Option<StoredId>,
    action: String,
    subject_kind: String,
    subject_id: Option<StoredId>,
    outcome: String,
    source_address: Option<String>,
    request_id: Option<String>,
    object_kind: Option<String>,
    object_id: Option<StoredId>,
    old_value: Option<String>,
    new_value: Option<String>,
}

impl From<AuditEvent> for EventRow {
    fn from(event: AuditEvent) -> Self {
        let (actor_kind, actor_id) = (event.actor.kind(), event.actor.id());
        let (subject_kind, subject_id) = (event.subject.kind(), event.subject.id());
        let object = event.object.as_ref().map(|object| (object.kind(), object.id()));
        Self {
            id: StoredId(event.id.as_uuid()),
            occurred_at: event.at.into(),
            organization_id: event.organization_id.map(|id| StoredId(id.as_uuid())),
            actor_kind: actor_kind.to_owned(),
            actor_id: actor_id.map(StoredId),
            action: event.action.as_str().to_owned(),
            subject_kind: subject_kind.to_owned(),
            subject_id: subject_id.map(StoredId),
            outcome: event.outcome.as_str().to_owned(),
            source_address: event.source.address.map(|address| address.to_string()),
            request_id: event.source.request_id,
            object_kind: object.map(|(kind, _)| kind.to_owned()),
            object_id: object.and_then(|(_, id)| id).map(StoredId),
            old_value: event.old_value,
            new_value: event.new_value,
        }
    }
}

impl TryFrom<EventRow> for AuditEvent {
    type Error = StorageError;

    fn try_from(row: EventRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("audit_events", row.id.0);
        let address = row.source_address.map(|address| address.parse::<IpAddr>());
        let actor = stored.reference(
            Actor::from_kind,
            ("actor_kind", &row.actor_kind),
            ("actor_id", row.actor_id.map(|id| id.0)),
        )?;
        let action = stored.word("action", Action::from_word(&row.action))?;
        Ok(Self {
            id: AuditEventId::from_uuid(row.id.0),
            at: stored.moment("occurred_at", row.occurred_at)?,
            organization_id: row.organization_id.map(|id| OrganizationId::from_uuid(id.0)),
            actor,
            action,
            subject: stored.reference(
                Subject::from_kind,
                ("subject_kind", &row.subject_kind),
                ("subject_id", row.subject_id.map(|id| id.0)),
            )?,
            object: match &row.object_kind {
                Some(kind) => Some(stored.reference(
                    Subject::from_kind,
                    ("object_kind", kind),
                    ("object_id", row.object_id.map(|id| id.0)),
                )?),
                None => stored.nothing_unless("object_kind", row.object_id.is_some())?,
            },
            old_value: row.old_value,
            new_value: row.new_value,
            outcome: stored.word("outcome", Outcome::from_word(&row.outcome))?,
            source: RequestSource {
                address: stored.read("source_address", address.transpose())?,
                request_id: row.request_id,
            },
        })
    }
}
