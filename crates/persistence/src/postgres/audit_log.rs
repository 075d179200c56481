//! Audit events on PostgreSQL: multi-row inserts, and reading in commit order.

pub(super) mod feed;

use diesel::QueryResult;
use futures_util::future::try_join_all;
use keyward_domain::audit::AuditEvent;

use super::dialect::{Pipelined, RunQueryDsl};
use super::events::{EventRow, write_event};
use super::schema::audit_events;
use crate::noted_changes;

/// Writes events in the transaction of the changes they record, in few statements: a key may have many
/// descendants.
pub(super) async fn write_events(mut connection: Pipelined<'_>, events: Vec<AuditEvent>) -> QueryResult<()> {
    // A statement with several rows is prepared each time; one with a row is prepared once, and may be sent
    // often at once.
    const FEW: usize = 8;
    if events.len() <= FEW {
        let writes = events.into_iter().map(|event| write_event(connection, event));
        try_join_all(writes).await?;
        return Ok(());
    }
    // PostgreSQL takes 65,535 parameters in one statement; a row has fifteen.
    const AT_ONCE: usize = 1_000;
    events.iter().for_each(noted_changes::note);
    let rows: Vec<EventRow> = events.into_iter().map(EventRow::from).collect();
    for chunk in rows.chunks(AT_ONCE) {
        diesel::insert_into(audit_events::table)
            .values(chunk)
            .execute(&mut connection)
            .await?;
    }
    Ok(())
}
