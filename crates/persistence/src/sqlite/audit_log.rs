//! Audit events on SQLite: inserts, and reading in commit order.

pub(super) mod feed;

use diesel::QueryResult;
use keyward_domain::audit::AuditEvent;

use super::dialect::Pipelined;
use super::events::write_event;

/// Writes events in the transaction of the changes they record.
pub(super) async fn write_events(connection: Pipelined<'_>, events: Vec<AuditEvent>) -> QueryResult<()> {
    for event in events {
        write_event(connection, event).await?;
    }
    Ok(())
}
