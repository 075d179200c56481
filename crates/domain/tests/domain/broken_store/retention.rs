use std::collections::HashSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::{Actor, AuditEvent};
use keyward_domain::id::MembershipId;
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::{ApiKeys, StorageError};
use keyward_domain::retention::ClockDoubt;
use keyward_domain::retention::SurplusKeys;
use keyward_domain::retention::ports::{RetentionError, RetentionStore};

use super::{BrokenStore, Fault, lock};

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
        self.note_removed_keys().await?;
        Ok(removed)
    }

    async fn next_with_surplus_keys(
        &self,
        after: Option<MembershipId>,
        kept: u32,
    ) -> Result<Option<MembershipId>, StorageError> {
        let (after, kept) = match self.fault {
            Fault::RepeatsFirstMemberWithSurplusKeys => (None, kept),
            Fault::KeepsOneEndedKeyTooFew => (after, kept.saturating_sub(1)),
            _ => (after, kept),
        };
        self.sound.next_with_surplus_keys(after, kept).await
    }

    async fn remove_surplus_keys(&self, surplus: SurplusKeys, at_most: u32) -> Result<u32, StorageError> {
        let mut surplus = surplus;
        let mut at_most = at_most;
        match self.fault {
            Fault::KeepsOneEndedKeyTooFew => surplus.kept = surplus.kept.saturating_sub(1),
            Fault::RemovesSurplusKeysTooEarly => surplus.before = DateTime::<Utc>::MAX_UTC,
            Fault::RemovesSurplusKeysWithoutLimit => at_most = u32::MAX,
            Fault::TreatsDueKeysAsEnded => {
                let mut act = self.beginning.act(Actor::System);
                act.at = surplus.before;
                self.sound.record_ends_of_keys(u32::MAX, act).await?;
            }
            Fault::RemovesSurplusKeysOfOtherMembers => {
                let consumers: HashSet<MembershipId> = lock(&self.consumers).values().copied().collect();
                for consumer in consumers.into_iter().filter(|other| *other != surplus.consumer) {
                    let of_other = SurplusKeys { consumer, ..surplus };
                    self.sound.remove_surplus_keys(of_other, at_most).await?;
                }
            }
            _ => {}
        }
        let removed = self.sound.remove_surplus_keys(surplus, at_most).await?;
        self.note_removed_keys().await?;
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

impl BrokenStore {
    async fn note_removed_keys(&self) -> Result<(), StorageError> {
        let consumers = lock(&self.consumers).clone();
        for (id, consumer) in consumers {
            if ApiKeys::find(&self.sound, consumer, id).await?.is_none() {
                lock(&self.removed_keys).insert(id);
            }
        }
        Ok(())
    }
}
