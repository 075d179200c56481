//! Removing what is kept no longer. Each database is asked in words of its own, since it locks what goes otherwise.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::retention::ClockDoubt;
use keyward_domain::retention::ports::{RemoveAuditEventsError, RetentionStore};

use super::dialect::{Store, retention};

#[async_trait]
impl RetentionStore for Store {
    async fn look_at_clock(
        &self,
        now: DateTime<Utc>,
        is_confirmed: bool,
    ) -> Result<Option<ClockDoubt>, StorageError> {
        self.change(move |connection| Box::pin(retention::look_at_clock(connection, now, is_confirmed)))
            .await
    }

    async fn remove_dead_keys(&self, dead_before: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        loop {
            let portion = self
                .change(move |connection| {
                    Box::pin(retention::remove_dead_keys(connection, dead_before, at_most))
                })
                .await?;
            if !portion.is_to_go_on {
                return Ok(portion.removed);
            }
        }
    }

    async fn remove_ended_invitations(
        &self,
        ended_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.change(move |connection| {
            Box::pin(retention::remove_ended_invitations(
                connection,
                ended_before,
                at_most,
            ))
        })
        .await
    }

    async fn remove_expired_sessions(
        &self,
        expired_at: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.change(move |connection| {
            Box::pin(retention::remove_expired_sessions(
                connection, expired_at, at_most,
            ))
        })
        .await
    }

    async fn remove_empty_throttle_buckets(
        &self,
        empty_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.change(move |connection| {
            Box::pin(retention::remove_empty_throttle_buckets(
                connection,
                empty_before,
                at_most,
            ))
        })
        .await
    }

    async fn remove_audit_events(
        &self,
        before: DateTime<Utc>,
        at_most: u32,
        event: Option<AuditEvent>,
    ) -> Result<u32, RemoveAuditEventsError> {
        self.change(move |connection| {
            Box::pin(retention::remove_audit_events(connection, before, at_most, event))
        })
        .await
    }
}
