//! Purging on PostgreSQL: advisory locks among servers, and the triggers that protect audit events.

use chrono::{DateTime, SecondsFormat, Utc};
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, QueryableByName};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use uuid::Uuid;

use super::errors::is_lock_timeout;
use super::prepared_once::PreparedOnce;
use super::schema::memberships;
use crate::retention::{AdvisoryLock, KeyOf};

/// Tries to acquire the lock until the end of the transaction, without waiting for another server.
pub(super) async fn try_lock(mut connection: &AsyncPgConnection, lock: AdvisoryLock) -> QueryResult<bool> {
    let taken = sql::<Bool>("pg_try_advisory_xact_lock(").bind::<BigInt, _>(lock as i64);
    let taken = diesel::select(taken.sql(")"));
    PreparedOnce(taken).get_result(&mut connection).await
}

/// Acquires the lock until the end of the transaction; waits for its holder, which releases it soon.
pub(super) async fn lock(connection: &mut AsyncPgConnection, lock: AdvisoryLock) -> QueryResult<()> {
    let taken = diesel::sql_query("SELECT pg_advisory_xact_lock($1)").bind::<BigInt, _>(lock as i64);
    taken.execute(connection).await.map(drop)
}

/// Locks a membership until the end of the transaction; returns whether it did. It waits for other
/// transactions, which PostgreSQL serves in turn: otherwise a client that locks its membership again and
/// again, as any change of keys does, would keep its keys from ever being purged. The statement waits twice
/// at most, for its turn and for the row, so that it ends before `statement_timeout`. From then on, no
/// statement of the transaction waits longer.
pub(super) async fn lock_membership(connection: &mut AsyncPgConnection, id: Uuid) -> QueryResult<bool> {
    let limit = "SAVEPOINT before_lock; SET LOCAL lock_timeout = '500ms'";
    connection.batch_execute(limit).await?;
    let membership = memberships::table
        .filter(memberships::id.eq(id))
        .select(memberships::id)
        .for_no_key_update();
    match membership.load::<Uuid>(connection).await {
        Ok(locked) => Ok(!locked.is_empty()),
        Err(error) if is_lock_timeout(&error) => {
            connection
                .batch_execute("ROLLBACK TO SAVEPOINT before_lock")
                .await?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The time of the database server's clock.
pub(super) async fn clock_of_database(
    connection: &mut AsyncPgConnection,
) -> QueryResult<Option<DateTime<Utc>>> {
    let now = diesel::select(sql::<Timestamptz>("clock_timestamp()"));
    now.get_result(connection).await.map(Some)
}

pub(super) async fn may_remove_events(connection: &mut AsyncPgConnection) -> QueryResult<bool> {
    let may = sql::<Bool>("has_table_privilege(current_user, 'audit_events', 'DELETE')");
    diesel::select(may).get_result(connection).await
}

pub(super) fn is_past_trigger_retention() -> SqlLiteral<Bool> {
    sql("occurred_at < now() - interval '30 days'")
}

/// Allows this transaction alone to delete events from before this time. (PostgreSQL stores microseconds.)
pub(super) async fn allow_event_removal(
    connection: &mut AsyncPgConnection,
    before: DateTime<Utc>,
) -> QueryResult<()> {
    let moment = before.to_rfc3339_opts(SecondsFormat::Micros, true);
    let set = sql::<Text>("set_config('keyward.audit_events_removable_before', ").bind::<Text, _>(moment);
    let set = diesel::select(set.sql(", true)"));
    set.get_result::<String>(connection).await.map(drop)
}

/// Does nothing: the permission ends with the transaction.
pub(super) async fn forbid_event_removal(_: &mut AsyncPgConnection) -> QueryResult<()> {
    Ok(())
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    consumer_id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    effective_parent: Option<Uuid>,
}

/// Up to `at_most` never-revoked keys of these consumers, grouped by consumer.
pub(super) async fn never_revoked_keys(
    connection: &mut AsyncPgConnection,
    consumers: &[Uuid],
    at_most: u32,
) -> QueryResult<Vec<KeyOf>> {
    let found: Vec<Found> = diesel::sql_query(
        "SELECT key.id, key.consumer_id, key.effective_parent
         FROM unnest($1) WITH ORDINALITY AS former (member, place)
         CROSS JOIN LATERAL (
             SELECT id, consumer_id, coalesce(adoptive_parent_key_id, created_by_key_id) AS effective_parent
             FROM api_keys WHERE consumer_id = former.member AND end_came_at IS NULL
             ORDER BY id DESC LIMIT $2
         ) key
         ORDER BY former.place, key.id DESC LIMIT $2",
    )
    .bind::<Array<SqlUuid>, _>(consumers)
    .bind::<BigInt, _>(i64::from(at_most))
    .load(connection)
    .await?;
    let found = found.into_iter().map(|key| KeyOf {
        consumer: key.consumer_id,
        below: (key.id, key.effective_parent),
    });
    Ok(found.collect())
}

/// Sets each key's adoptive parent.
pub(super) async fn set_adoptive_parents(
    connection: &mut AsyncPgConnection,
    new_parents: Vec<(Uuid, Uuid)>,
) -> QueryResult<()> {
    if new_parents.is_empty() {
        return Ok(());
    }
    let (keys, above): (Vec<Uuid>, Vec<Uuid>) = new_parents.into_iter().unzip();
    diesel::sql_query(
        "UPDATE api_keys SET adoptive_parent_key_id = new_parent.above
         FROM unnest($1, $2) AS new_parent (key, above) WHERE api_keys.id = new_parent.key",
    )
    .bind::<Array<SqlUuid>, _>(keys)
    .bind::<Array<SqlUuid>, _>(above)
    .execute(connection)
    .await
    .map(drop)
}
