//! Searches of the audit log. Actor, action and subject each have an index that continues with the order of the list: a
//! page of a search by one of them costs only its own size, however large the log is and however old the page. Days
//! narrow the search in any of these indexes. On SQLite, a search that nobody waits for any more ends.
//!
//! A search by two of them scans one index until the page is full. In the worst case that is the whole index: many
//! events by one user and many of one action, with none in common. With millions of events, this exceeds the statement
//! timeout, unless days narrow the search. An index for the most common pair would help only that pair, and slow down
//! every write.

use std::cmp::Reverse;
use std::convert::Infallible;

use diesel::BoolExpressionMethods;
use diesel::helper_types::IntoBoxed;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::audit::{AuditEvent, Subject};
use keyward_domain::id::OrganizationId;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{AuditFilter, AuditPosition, StorageError};

use super::super::dialect::{Connection, Database, RunQueryDsl, awaited};
use super::super::events::EventRow;
use super::super::schema::audit_events;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::limit::one_more;
use crate::{actor, subject};

pub(super) async fn list(
    connection: &mut Connection,
    organization: Option<OrganizationId>,
    filter: AuditFilter,
    page: PageRequest<AuditPosition>,
) -> Result<Page<AuditEvent, AuditPosition>, Abort<Infallible>> {
    let mut rows: Vec<EventRow> = match filter.subject {
        None => matching(organization, &filter, page).load(connection).await?,
        Some(subject) => {
            // A single query with OR would sort all matches; these two queries each return rows in order.
            let (of_subject, of_object) = (
                with_subject(matching(organization, &filter, page), subject),
                with_object(matching(organization, &filter, page), subject),
            );
            let mut rows: Vec<EventRow> = of_subject.load(connection).await?;
            rows.extend(of_object.load::<EventRow>(connection).await?);
            rows
        }
    };
    rows.sort_by_key(|row| Reverse((row.occurred_at, row.id)));
    rows.dedup_by_key(|row| row.id);
    rows.truncate(page.size.items() + 1);
    let events: Result<Vec<AuditEvent>, StorageError> = rows.into_iter().map(AuditEvent::try_from).collect();
    Ok(Page::from_one_more(events?, page.size, |event| event.into()))
}

type Query = IntoBoxed<
    'static,
    diesel::dsl::Select<audit_events::table, diesel::dsl::AsSelect<EventRow, Database>>,
    Database,
>;

/// The rows of a page and one more, with any subject.
fn matching(
    organization: Option<OrganizationId>,
    filter: &AuditFilter,
    page: PageRequest<AuditPosition>,
) -> Query {
    let mut query = awaited!(
        audit_events::table.select(EventRow::as_select()).into_boxed(),
        audit_events::id
    )
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
        query = query.filter(audit_events::occurred_at.ge(StoredMoment::from(from)));
    }
    if let Some(until) = filter.until {
        query = query.filter(audit_events::occurred_at.lt(StoredMoment::from(until)));
    }
    if let Some(after) = page.after {
        // The first condition selects the index.
        query = query
            .filter(audit_events::occurred_at.le(StoredMoment::from(after.at)))
            .filter(
                audit_events::occurred_at
                    .lt(StoredMoment::from(after.at))
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
