//! Purging records past their retention period.
//!
//! Any number of servers may purge at once. Each purges independent rows that no other transaction has
//! locked; keys and audit events are purged by one server at a time, and the others find nothing to do.

mod dead_keys;
mod key_removal;
mod surplus_keys;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::dsl::sql;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::MembershipId;
use keyward_domain::ports::StorageError;
use keyward_domain::retention::SurplusKeys;
use keyward_domain::retention::ports::{RetentionError, RetentionStore};
use keyward_domain::retention::{ClockDoubt, ClockWitnesses};
use keyward_domain::sign_in::session::Session;
use uuid::Uuid;

use super::api_keys::forget_idempotency_keys;
use super::dialect::{Moment, RunQueryDsl, Store, retention, skip_referenced};
use super::events::write_event;
use super::schema::{api_keys, audit_events, invitations, retention_clock, sessions, sign_in_throttle};
use crate::abort::Abort;
use crate::columns::{StoredFlag, StoredId, StoredMoment};
use crate::limit::to_u32;
use crate::retention::{AdvisoryLock, least_id_at};

// Rows are selected first and then deleted by their identifiers. Rows locked by another transaction are
// skipped, so nothing waits; a later run purges them. Only a membership with surplus keys is waited for, for
// a moment.

#[async_trait]
impl RetentionStore for Store {
    async fn check_clock(
        &self,
        now: DateTime<Utc>,
        is_confirmed: bool,
    ) -> Result<Option<ClockDoubt>, StorageError> {
        change!(self, |connection| {
            retention::lock(connection, AdvisoryLock::Clock).await?;
            let database = retention::clock_of_database(connection).await?;
            let believed_at: Option<StoredMoment> = retention_clock::table
                .select(retention_clock::believed_at)
                .get_result(connection)
                .await
                .optional()?;
            let witnesses = ClockWitnesses {
                database,
                // If the row is missing or unreadable, no clock is trusted until an administrator confirms
                // it.
                trusted_at: believed_at.and_then(|at| at.0.ok()).unwrap_or_default(),
            };
            if let Err(doubt) = witnesses.check(now, is_confirmed) {
                return Ok(Some(doubt));
            }
            let now = StoredMoment::from(now);
            diesel::insert_into(retention_clock::table)
                .values((
                    retention_clock::only_row.eq(StoredFlag(true)),
                    retention_clock::believed_at.eq(now),
                ))
                .on_conflict(retention_clock::only_row)
                .do_update()
                .set(retention_clock::believed_at.eq(now))
                .execute(connection)
                .await?;
            Ok(None)
        })
    }

    async fn remove_dead_keys(&self, dead_before: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        loop {
            let batch = change!(self, dead_keys::remove(dead_before, at_most))?;
            if !batch.must_continue {
                return Ok(batch.removed);
            }
        }
    }

    /// Each step skips this many ended keys, of one consumer or of several.
    async fn next_with_surplus_keys(
        &self,
        after: Option<MembershipId>,
        kept: u32,
    ) -> Result<Option<MembershipId>, StorageError> {
        let mut from = match after.map(|after| after.as_uuid().as_u128().checked_add(1)) {
            Some(Some(next)) => Uuid::from_u128(next),
            Some(None) => return Ok(None),
            None => Uuid::nil(),
        };
        loop {
            let next = read!(self, |connection| {
                Ok(surplus_keys::consumer_after(connection, from, kept).await?)
            })?;
            match next {
                Some(consumer) if consumer == from => return Ok(Some(MembershipId::from_uuid(consumer))),
                Some(consumer) => from = consumer,
                None => return Ok(None),
            }
        }
    }

    async fn remove_surplus_keys(&self, surplus: SurplusKeys, at_most: u32) -> Result<u32, StorageError> {
        loop {
            let batch = change!(self, surplus_keys::remove(surplus, at_most))?;
            if !batch.must_continue {
                return Ok(batch.removed);
            }
        }
    }

    async fn remove_ended_invitations(
        &self,
        ended_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        change!(self, |connection| {
            // The expression of the index.
            let ended_at = || sql::<Moment>("coalesce(accepted_at, revoked_at, expires_at)");
            let ended = invitations::table
                .filter(ended_at().lt(StoredMoment::from(ended_before)))
                .order(ended_at())
                .limit(i64::from(at_most))
                .select(invitations::id);
            let ended: Vec<StoredId> = skip_referenced!(ended).load(connection).await?;
            let removed = diesel::delete(invitations::table.filter(invitations::id.eq_any(ended)))
                .execute(connection)
                .await?;
            Ok(to_u32(removed))
        })
    }

    /// Regular purging keeps the table small, so it needs no index.
    async fn remove_expired_sessions(
        &self,
        expired_at: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        let (Some(unused_since), Some(started)) = (
            expired_at.checked_sub_signed(Session::IDLE_TIMEOUT),
            expired_at.checked_sub_signed(Session::ABSOLUTE_TIMEOUT),
        ) else {
            return Ok(0);
        };
        change!(self, |connection| {
            let is_unused = sessions::last_seen_at.le(StoredMoment::from(unused_since));
            let expired = sessions::table
                .filter(is_unused.or(sessions::started_at.le(StoredMoment::from(started))))
                .limit(i64::from(at_most))
                .select(sessions::id);
            let expired: Vec<StoredId> = skip_referenced!(expired).load(connection).await?;
            let removed = diesel::delete(sessions::table.filter(sessions::id.eq_any(expired)))
                .execute(connection)
                .await?;
            Ok(to_u32(removed))
        })
    }

    async fn forget_idempotency_keys(
        &self,
        created_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        change!(self, |connection| {
            let old = api_keys::table
                .filter(api_keys::request_digest.is_not_null())
                .filter(api_keys::created_at.lt(StoredMoment::from(created_before)))
                .order(api_keys::created_at)
                .limit(i64::from(at_most))
                .select(api_keys::id);
            let old: Vec<StoredId> = skip_referenced!(old).load(connection).await?;
            if old.is_empty() {
                return Ok(0);
            }
            let forgotten = forget_idempotency_keys(connection, old).await?;
            Ok(to_u32(forgotten))
        })
    }

    async fn remove_empty_throttle_buckets(
        &self,
        empty_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        change!(self, |connection| {
            let empty = sign_in_throttle::table
                .filter(sign_in_throttle::empty_at.lt(StoredMoment::from(empty_before)))
                .order(sign_in_throttle::empty_at)
                .limit(i64::from(at_most))
                .select(sign_in_throttle::bucket);
            let empty: Vec<Vec<u8>> = skip_referenced!(empty).load(connection).await?;
            let of_these = sign_in_throttle::table.filter(sign_in_throttle::bucket.eq_any(empty));
            let removed = diesel::delete(of_these).execute(connection).await?;
            Ok(to_u32(removed))
        })
    }

    /// This is the only deletion of audit events; triggers refuse all others.
    async fn remove_audit_events(
        &self,
        before: DateTime<Utc>,
        at_most: u32,
        event: Option<AuditEvent>,
    ) -> Result<u32, RetentionError> {
        change!(self, |connection| {
            if !retention::may_remove_events(connection).await? {
                return Err(Abort::Refused(RetentionError::NotAllowed));
            }
            let Some(first_kept) = least_id_at(before) else {
                return Ok(0);
            };
            // An advisory lock, because row locks require the privilege to update events.
            if !retention::try_lock(connection, AdvisoryLock::AuditEvents).await? {
                return Ok(0);
            }
            // The primary key finds the oldest events. Identifiers come from several clocks, so one may be
            // later than its event: such an event is purged a little later, never too early. The triggers
            // protect events younger than 30 days by the database's clock.
            let old: Vec<StoredId> = audit_events::table
                .filter(audit_events::id.lt(StoredId(first_kept)))
                .filter(audit_events::occurred_at.lt(StoredMoment::from(before)))
                .filter(retention::is_past_trigger_retention())
                .order(audit_events::id)
                .limit(i64::from(at_most))
                .select(audit_events::id)
                .load(connection)
                .await?;
            retention::allow_event_removal(connection, before).await?;
            let removed = diesel::delete(audit_events::table.filter(audit_events::id.eq_any(old)))
                .execute(connection)
                .await?;
            retention::forbid_event_removal(connection).await?;
            if let Some(event) = event.filter(|_| removed > 0) {
                write_event(connection, event).await?;
            }
            Ok(to_u32(removed))
        })
    }
}
