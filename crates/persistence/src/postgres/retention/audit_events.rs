//! Removing audit events. Nothing else does, and the table's triggers see to it.

use chrono::{DateTime, SecondsFormat, Utc};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::audit::AuditEvent;
use keyward_domain::retention::ports::RemoveAuditEventsError;

use super::{Turn, take};
use crate::abort::Abort;
use crate::postgres::events::write_event;
use crate::retention::{counted, least_id_at};

pub(in crate::postgres) async fn remove(
    connection: &mut AsyncPgConnection,
    before: DateTime<Utc>,
    at_most: u32,
    event: Option<AuditEvent>,
) -> Result<u32, Abort<RemoveAuditEventsError>> {
    let may_remove = sql::<Bool>("has_table_privilege(current_user, 'audit_events', 'DELETE')");
    if !diesel::select(may_remove).get_result::<bool>(connection).await? {
        return Err(Abort::Refused(RemoveAuditEventsError::NotAllowed));
    }
    let Some(first_kept) = least_id_at(before) else {
        return Ok(0);
    };
    // Row locks would do as well, but only for a role that may also change events.
    if !take(connection, Turn::AuditEvents).await? {
        return Ok(0);
    }
    // To the end of this transaction, and to nobody else, the trigger lets go what is from before this. (PostgreSQL keeps
    // microseconds.)
    let moment = before.to_rfc3339_opts(SecondsFormat::Micros, true);
    diesel::select(
        sql::<Text>("set_config('keyward.audit_events_removable_before', ")
            .bind::<Text, _>(moment)
            .sql(", true)"),
    )
    .get_result::<String>(connection)
    .await?;
    // The primary key leads to the oldest. Identifiers come from several clocks, so one may be ahead of its event: that
    // goes a little later, and none too early. What is younger than 30 days by the clock of this server the trigger keeps.
    let removed = diesel::sql_query(
        "DELETE FROM audit_events WHERE id = ANY(ARRAY(
             SELECT id FROM audit_events
             WHERE id < $1 AND occurred_at < least($2, now() - interval '30 days') ORDER BY id LIMIT $3))",
    )
    .bind::<SqlUuid, _>(first_kept)
    .bind::<Timestamptz, _>(before)
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)
    .await?;
    if let Some(event) = event.filter(|_| removed > 0) {
        write_event(connection, event).await?;
    }
    Ok(counted(removed))
}
