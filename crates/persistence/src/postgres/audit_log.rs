//! What happened: only ever added to, until [retention](super::retention) removes what is old enough.

mod feed;
mod search;

use std::net::IpAddr;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::prelude::{Insertable, Queryable, Selectable};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join_all;
use keyward_domain::audit::{Action, AuditEvent, Outcome, RequestSource};
use keyward_domain::id::{AuditEventId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{AuditFilter, AuditLog, AuditPosition, StorageError};
use uuid::Uuid;

use super::schema::audit_events;
use super::store::PostgresStore;
use crate::abort::Abort;
use crate::stored_row::StoredRow;
use crate::{actor, subject};

#[async_trait]
impl AuditLog for PostgresStore {
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

/// Writes an event in the transaction of the change it tells of.
pub(super) async fn write_event(mut connection: &AsyncPgConnection, event: AuditEvent) -> QueryResult<()> {
    diesel::insert_into(audit_events::table)
        .values(EventRow::from(event))
        .execute(&mut connection)
        .await?;
    Ok(())
}

/// Writes several events likewise, in few statements: a key may have many descendants.
pub(super) async fn write_events(
    mut connection: &AsyncPgConnection,
    events: Vec<AuditEvent>,
) -> QueryResult<()> {
    // A statement with several rows is prepared each time; one with a row is prepared once, and may be sent often at once.
    const FEW: usize = 8;
    if events.len() <= FEW {
        let writes = events.into_iter().map(|event| write_event(connection, event));
        try_join_all(writes).await?;
        return Ok(());
    }
    // PostgreSQL takes 65,535 parameters in one statement; a row has thirteen.
    const AT_ONCE: usize = 1_000;
    let rows: Vec<EventRow> = events.into_iter().map(EventRow::from).collect();
    for chunk in rows.chunks(AT_ONCE) {
        diesel::insert_into(audit_events::table)
            .values(chunk)
            .execute(&mut connection)
            .await?;
    }
    Ok(())
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_events, check_for_backend(Pg), treat_none_as_default_value = false)]
struct EventRow {
    id: Uuid,
    occurred_at: DateTime<Utc>,
    organization_id: Option<Uuid>,
    actor_kind: String,
    actor_id: Option<Uuid>,
    action: String,
    subject_kind: String,
    subject_id: Option<Uuid>,
    outcome: String,
    source_address: Option<String>,
    request_id: Option<String>,
    object_kind: Option<String>,
    object_id: Option<Uuid>,
}

impl From<AuditEvent> for EventRow {
    fn from(event: AuditEvent) -> Self {
        let (actor_kind, actor_id) = actor::to_columns(event.actor);
        let (subject_kind, subject_id) = subject::to_columns(&event.subject);
        let object = event.object.as_ref().map(subject::to_columns);
        Self {
            id: event.id.as_uuid(),
            occurred_at: event.at,
            organization_id: event.organization_id.map(|id| id.as_uuid()),
            actor_kind: actor_kind.to_owned(),
            actor_id,
            action: event.action.as_str().to_owned(),
            subject_kind: subject_kind.to_owned(),
            subject_id,
            outcome: event.outcome.as_str().to_owned(),
            source_address: event.source.address.map(|address| address.to_string()),
            request_id: event.source.request_id,
            object_kind: object.map(|(kind, _)| kind.to_owned()),
            object_id: object.and_then(|(_, id)| id),
        }
    }
}

impl TryFrom<EventRow> for AuditEvent {
    type Error = StorageError;

    fn try_from(row: EventRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("audit_events", row.id);
        let address = row.source_address.map(|address| address.parse::<IpAddr>());
        let actor = actor::from_columns(
            &stored,
            ("actor_kind", &row.actor_kind),
            ("actor_id", row.actor_id),
        )?;
        let action = stored.word("action", Action::from_word(&row.action))?;
        Ok(Self {
            id: AuditEventId::from_uuid(row.id),
            at: row.occurred_at,
            organization_id: row.organization_id.map(OrganizationId::from_uuid),
            actor: actor::of_event(action, actor),
            action,
            subject: subject::from_columns(
                &stored,
                ("subject_kind", &row.subject_kind),
                ("subject_id", row.subject_id),
            )?,
            object: match &row.object_kind {
                Some(kind) => Some(subject::from_columns(
                    &stored,
                    ("object_kind", kind),
                    ("object_id", row.object_id),
                )?),
                None => stored.nothing_unless("object_kind", row.object_id.is_some())?,
            },
            outcome: stored.word("outcome", Outcome::from_word(&row.outcome))?,
            source: RequestSource {
                address: stored.read("source_address", address.transpose())?,
                request_id: row.request_id,
            },
        })
    }
}
