//! Removing audit events. Nothing else does, and the table's triggers see to it.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, RunQueryDsl, SqliteConnection};
use diesel::sql_types::{BigInt, Binary};
use keyward_domain::audit::AuditEvent;
use keyward_domain::retention::ports::RemoveAuditEventsError;

use crate::abort::Abort;
use crate::columns::StoredId;
use crate::retention::{counted, least_id_at};
use crate::sqlite::events::write_event;
use crate::sqlite::schema::audit_events_removal;

pub(in crate::sqlite) async fn remove(
    connection: &mut SqliteConnection,
    before: DateTime<Utc>,
    at_most: u32,
    event: Option<AuditEvent>,
) -> Result<u32, Abort<RemoveAuditEventsError>> {
    let Some(first_kept) = least_id_at(before) else {
        return Ok(0);
    };
    let before = before.timestamp_millis();
    // As long as this row is there, the trigger lets go what is from before it; no other transaction ever sees it.
    diesel::insert_into(audit_events_removal::table)
        .values(audit_events_removal::removable_before.eq(before))
        .execute(connection)?;
    // The primary key leads to the oldest. Identifiers come from several clocks, so one may be ahead of its event: that
    // goes a little later, and none too early. What is younger than 30 days by this machine's clock the trigger keeps.
    let removed = diesel::sql_query(
        "DELETE FROM audit_events WHERE id IN (
             SELECT id FROM audit_events
             WHERE id < ? AND occurred_at < min(?, (unixepoch('now') - 30 * 86400) * 1000) ORDER BY id LIMIT ?)",
    )
    .bind::<Binary, _>(StoredId(first_kept))
    .bind::<BigInt, _>(before)
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)?;
    diesel::delete(audit_events_removal::table).execute(connection)?;
    if let Some(event) = event.filter(|_| removed > 0) {
        write_event(connection, event).await?;
    }
    Ok(counted(removed))
}
