use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::{ApiKeys, StorageError};
use keyward_domain::retention::ClockDoubt;
use keyward_domain::retention::ports::{RetentionError, RetentionStore};

use super::{BrokenStore, lock};

#[async_trait]
impl RetentionStore for BrokenStore {
    async fn check_clock(
        &self,
        now: DateTime<Utc>,
        is_confirmed: bool,
    ) -> Result<Option<ClockDoubt>, StorageError> {
        self.sound.check_clock(now, is_confirmed).await
    }

    async fn remove_dead_keys(&self, dead_before: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        let removed = self.sound.remove_dead_keys(dead_before, at_most).await?;
        let consumers = lock(&self.consumers).clone();
        for (id, consumer) in consumers {
            if ApiKeys::find(&self.sound, consumer, id).await?.is_none() {
                lock(&self.removed_keys).insert(id);
            }
        }
        Ok(removed)
    }

    async fn remove_ended_invitations(
        &self,
        ended_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.sound.remove_ended_invitations(ended_before, at_most).await
    }

    async fn remove_expired_sessions(
        &self,
        expired_at: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.sound.remove_expired_sessions(expired_at, at_most).await
    }

    async fn forget_idempotency_keys(
        &self,
        created_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.sound.forget_idempotency_keys(created_before, at_most).await
    }

    async fn remove_empty_throttle_buckets(
        &self,
        empty_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        self.sound
            .remove_empty_throttle_buckets(empty_before, at_most)
            .await
    }

    async fn remove_audit_events(
        &self,
        before: DateTime<Utc>,
        at_most: u32,
        event: Option<AuditEvent>,
    ) -> Result<u32, RetentionError> {
        self.sound.remove_audit_events(before, at_most, event).await
    }
}
