//! Removing what is kept no longer.

mod audit_events;
mod clock;
mod dead_keys;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::{RunQueryDsl, SqliteConnection};
use diesel::sql_types::BigInt;
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::retention::ClockDoubt;
use keyward_domain::retention::ports::{RemoveAuditEventsError, RetentionStore};
use keyward_domain::sign_in::session::Session;

use super::store::SqliteStore;
use crate::abort::Abort;
use crate::retention::counted;

#[async_trait]
impl RetentionStore for SqliteStore {
    async fn look_at_clock(
        &self,
        now: DateTime<Utc>,
        is_confirmed: bool,
    ) -> Result<Option<ClockDoubt>, StorageError> {
        self.change_blocking(move |connection| clock::look(connection, now, is_confirmed))
            .await
    }

    async fn remove_dead_keys(&self, dead_before: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        self.change_blocking(move |connection| dead_keys::remove(connection, dead_before, at_most))
            .await
    }

    async fn remove_ended_invitations(
        &self,
        ended_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.change_blocking(move |connection| remove_ended_invitations(connection, ended_before, at_most))
            .await
    }

    async fn remove_expired_sessions(
        &self,
        expired_at: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.change_blocking(move |connection| remove_expired_sessions(connection, expired_at, at_most))
            .await
    }

    async fn remove_empty_throttle_buckets(
        &self,
        empty_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.change_blocking(move |connection| {
            remove_empty_throttle_buckets(connection, empty_before, at_most)
        })
        .await
    }

    async fn remove_audit_events(
        &self,
        before: DateTime<Utc>,
        at_most: u32,
        event: Option<AuditEvent>,
    ) -> Result<u32, RemoveAuditEventsError> {
        self.change_blocking(move |connection| audit_events::remove(connection, before, at_most, event))
            .await
    }
}

fn remove_ended_invitations(
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
fn remove_expired_sessions(
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

fn remove_empty_throttle_buckets(
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
