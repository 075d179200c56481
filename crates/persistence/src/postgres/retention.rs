//! Removing what is kept no longer.
//!
//! Any number of servers do so at once. Where rows stand for themselves, each takes those that no other transaction
//! holds; keys and audit events are for one server at a time, and the others find nothing to do.

mod audit_events;
mod clock;
mod dead_keys;

use chrono::{DateTime, Utc};
use diesel::prelude::QueryResult;
use diesel::sql_types::{BigInt, Bool, Timestamptz};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::session::Session;

use crate::abort::Abort;
use crate::retention::counted;

pub(super) use audit_events::remove as remove_audit_events;
pub(super) use clock::look as look_at_clock;
pub(super) use dead_keys::remove as remove_dead_keys;

// Which rows go is found out once (`ARRAY`), whatever the plan, and asked again of each row that another transaction
// changed meanwhile. Rows that another one holds are passed over, so nobody waits: their turn comes.

pub(super) async fn remove_ended_invitations(
    connection: &mut AsyncPgConnection,
    ended_before: DateTime<Utc>,
    at_most: u32,
) -> Result<u32, Abort<StorageError>> {
    let removed = diesel::sql_query(
        "DELETE FROM invitations WHERE id = ANY(ARRAY(
             SELECT id FROM invitations WHERE coalesce(accepted_at, revoked_at, expires_at) < $1
             ORDER BY coalesce(accepted_at, revoked_at, expires_at) LIMIT $2 FOR UPDATE SKIP LOCKED))",
    )
    .bind::<Timestamptz, _>(ended_before)
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)
    .await?;
    Ok(counted(removed))
}

/// The table is small, as long as this is done: no index helps.
pub(super) async fn remove_expired_sessions(
    connection: &mut AsyncPgConnection,
    expired_at: DateTime<Utc>,
    at_most: u32,
) -> Result<u32, Abort<StorageError>> {
    let (Some(unused_since), Some(started)) = (
        expired_at.checked_sub_signed(Session::IDLE),
        expired_at.checked_sub_signed(Session::ABSOLUTE),
    ) else {
        return Ok(0);
    };
    let removed = diesel::sql_query(
        "DELETE FROM sessions WHERE id = ANY(ARRAY(
             SELECT id FROM sessions WHERE last_seen_at <= $1 OR started_at <= $2 LIMIT $3 FOR UPDATE SKIP LOCKED))",
    )
    .bind::<Timestamptz, _>(unused_since)
    .bind::<Timestamptz, _>(started)
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)
    .await?;
    Ok(counted(removed))
}

pub(super) async fn remove_empty_throttle_buckets(
    connection: &mut AsyncPgConnection,
    empty_before: DateTime<Utc>,
    at_most: u32,
) -> Result<u32, Abort<StorageError>> {
    let removed = diesel::sql_query(
        "DELETE FROM sign_in_throttle WHERE bucket = ANY(ARRAY(
             SELECT bucket FROM sign_in_throttle WHERE empty_at < $1
             ORDER BY empty_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
    )
    .bind::<Timestamptz, _>(empty_before)
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)
    .await?;
    Ok(counted(removed))
}

/// What one server at a time does. Its number names an advisory lock of the database.
#[derive(Clone, Copy)]
#[repr(i64)]
enum Turn {
    /// ASCII: `keys go`.
    DeadKeys = 0x006b_6579_7320_676f,
    /// ASCII: `logs go`.
    AuditEvents = 0x006c_6f67_7320_676f,
    /// ASCII: `clock go`.
    Clock = 0x636c_6f63_6b20_676f,
}

/// Whether it is ours until the end of the transaction. Another server has it otherwise: nobody waits for that.
async fn take(connection: &mut AsyncPgConnection, turn: Turn) -> QueryResult<bool> {
    diesel::select(
        diesel::dsl::sql::<Bool>("pg_try_advisory_xact_lock(")
            .bind::<BigInt, _>(turn as i64)
            .sql(")"),
    )
    .get_result(connection)
    .await
}

/// Makes it ours until the end of the transaction. Whoever has it gets done soon.
async fn take_in_turn(connection: &mut AsyncPgConnection, turn: Turn) -> QueryResult<()> {
    diesel::sql_query("SELECT pg_advisory_xact_lock($1)")
        .bind::<BigInt, _>(turn as i64)
        .execute(connection)
        .await
        .map(drop)
}
