//! Searching what happened, by the same indexes and at the same costs as on PostgreSQL: see there. A search that nobody
//! waits for any more ends.

use std::cmp::Reverse;
use std::convert::Infallible;

use diesel::BoolExpressionMethods;
use diesel::helper_types::IntoBoxed;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use diesel::sqlite::Sqlite;

use keyward_domain::audit::{AuditEvent, Subject};
use keyward_domain::id::OrganizationId;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{AuditFilter, AuditPosition, StorageError};

use super::EventRow;
use crate::abort::Abort;
use crate::limit::one_more;
use crate::sqlite::columns::StoredId;
use crate::sqlite::schema::audit_events;
use crate::sqlite::still_awaited::still_awaited;
use crate::{actor, subject};

pub(super) fn list(
    connection: &mut SqliteConnection,
    organization: Option<OrganizationId>,
    filter: AuditFilter,
    page: PageRequest<AuditPosition>,
) -> Result<Page<AuditEvent, AuditPosition>, Abort<Infallible>> {
    let mut rows: Vec<EventRow> = match filter.subject {
        None => matching(organization, &filter, page).load(connection)?,
        Some(subject) => {
            // One question with OR would be answered by sorting all that match. These two each come in order.
            let (of_subject, of_object) = (
                with_subject(matching(organization, &filter, page), subject),
                with_object(matching(organization, &filter, page), subject),
            );
            let mut rows: Vec<EventRow> = of_subject.load(connection)?;
            rows.extend(of_object.load::<EventRow>(connection)?);
            rows
        }
    };
    rows.sort_by_key(|row| Reverse((row.occurred_at, row.id.0)));
    rows.dedup_by_key(|row| row.id.0);
    rows.truncate(page.size.items() + 1);
    let events: Result<Vec<AuditEvent>, StorageError> = rows.into_iter().map(AuditEvent::try_from).collect();
    Ok(Page::from_one_more(events?, page.size, |event| event.into()))
}

type Query = IntoBoxed<
    'static,
    diesel::dsl::Select<audit_events::table, diesel::dsl::AsSelect<EventRow, Sqlite>>,
    Sqlite,
>;

/// The rows of a page and one more, whatever they are about.
fn matching(
    organization: Option<OrganizationId>,
    filter: &AuditFilter,
    page: PageRequest<AuditPosition>,
) -> Query {
    let mut query = audit_events::table
        .select(EventRow::as_select())
        .into_boxed()
        .filter(still_awaited(audit_events::id))
        .order((audit_events::occurred_at.desc(), audit_events::id.desc()))
        .limit(one_more(page.size));
    query = match organization {
        Some(organization) => {
            query.filter(audit_events::organization_id.eq(StoredId(organization.as_uuid())))
        }
        None => query.filter(audit_events::organization_id.is_null()),
    };
    if let Some(actor) = filter.actor {
        let (kind, id) = actor::to_columns(actor);
        query = query.filter(audit_events::actor_kind.eq(kind));
        query = match id {
            Some(id) => query.filter(audit_events::actor_id.eq(StoredId(id))),
            None => query.filter(audit_events::actor_id.is_null()),
        };
    }
    if let Some(action) = filter.action {
        query = query.filter(audit_events::action.eq(action.as_str().to_owned()));
    }
    if let Some(from) = filter.from {
        query = query.filter(audit_events::occurred_at.ge(from.timestamp_millis()));
    }
    if let Some(until) = filter.until {
        query = query.filter(audit_events::occurred_at.lt(until.timestamp_millis()));
    }
    if let Some(after) = page.after {
        // The first condition is where the index is entered.
        query = query
            .filter(audit_events::occurred_at.le(after.at.timestamp_millis()))
            .filter(
                audit_events::occurred_at
                    .lt(after.at.timestamp_millis())
                    .or(audit_events::id.lt(StoredId(after.id.as_uuid()))),
            );
    }
    query
}

fn with_subject(query: Query, subject: Subject) -> Query {
    let (kind, id) = subject::to_columns(&subject);
    let query = query.filter(audit_events::subject_kind.eq(kind.to_owned()));
    match id {
        Some(id) => query.filter(audit_events::subject_id.eq(StoredId(id))),
        None => query.filter(audit_events::subject_id.is_null()),
    }
}

fn with_object(query: Query, subject: Subject) -> Query {
    let (kind, id) = subject::to_columns(&subject);
    let query = query.filter(audit_events::object_kind.eq(kind.to_owned()));
    match id {
        Some(id) => query.filter(audit_events::object_id.eq(StoredId(id))),
        None => query.filter(audit_events::object_id.is_null()),
    }
}
