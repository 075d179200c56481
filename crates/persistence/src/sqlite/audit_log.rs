//! Events, as SQLite takes many of them and hands them out in the order of commits.

mod feed;

use diesel::QueryResult;
use diesel::prelude::{RunQueryDsl, SqliteConnection};
use keyward_domain::audit::AuditEvent;

use super::schema::audit_events;
use super::sql::audit_log::EventRow;

/// Writes an event in the transaction of the change it tells of.
pub(super) fn write_event(connection: &mut SqliteConnection, event: AuditEvent) -> QueryResult<()> {
    diesel::insert_into(audit_events::table)
        .values(EventRow::from(event))
        .execute(connection)?;
    Ok(())
}

/// Writes several events likewise.
pub(super) fn write_events(connection: &mut SqliteConnection, events: Vec<AuditEvent>) -> QueryResult<()> {
    events
        .into_iter()
        .try_for_each(|event| write_event(connection, event))
}
