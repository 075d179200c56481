//! Removing what is kept no longer.

mod audit_events;
mod clock;
mod dead_keys;

use chrono::{DateTime, Utc};
use diesel::prelude::{RunQueryDsl, SqliteConnection};
use diesel::sql_types::BigInt;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::session::Session;

use crate::abort::Abort;
use crate::retention::counted;

pub(super) use audit_events::remove as remove_audit_events;
pub(super) use clock::look as look_at_clock;
pub(super) use dead_keys::remove as remove_dead_keys;

pub(super) async fn remove_ended_invitations(
    connection: &mut SqliteConnection,
    ended_before: DateTime<Utc>,
    at_most: u32,
) -> Result<u32, Abort<StorageError>> {
    let removed = diesel::sql_query(
        "DELETE FROM invitations WHERE id IN (
             SELECT id FROM invitations WHERE coalesce(accepted_at, revoked_at, expires_at) < ?
             ORDER BY coalesce(accepted_at, revoked_at, expires_at) LIMIT ?)",
    )
    .bind::<BigInt, _>(ended_before.timestamp_millis())
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)?;
    Ok(counted(removed))
}

/// The table is small, as long as this is done: no index helps.
pub(super) async fn remove_expired_sessions(
    connection: &mut SqliteConnection,
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
        "DELETE FROM sessions WHERE id IN (
             SELECT id FROM sessions WHERE last_seen_at <= ? OR started_at <= ? LIMIT ?)",
    )
    .bind::<BigInt, _>(unused_since.timestamp_millis())
    .bind::<BigInt, _>(started.timestamp_millis())
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)?;
    Ok(counted(removed))
}

pub(super) async fn remove_empty_throttle_buckets(
    connection: &mut SqliteConnection,
    empty_before: DateTime<Utc>,
    at_most: u32,
) -> Result<u32, Abort<StorageError>> {
    let removed = diesel::sql_query(
        "DELETE FROM sign_in_throttle WHERE bucket IN (
             SELECT bucket FROM sign_in_throttle WHERE empty_at < ? ORDER BY empty_at LIMIT ?)",
    )
    .bind::<BigInt, _>(empty_before.timestamp_millis())
    .bind::<BigInt, _>(i64::from(at_most))
    .execute(connection)?;
    Ok(counted(removed))
}
