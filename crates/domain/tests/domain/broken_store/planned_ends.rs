use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::InvitationStore;
use keyward_domain::api_key::{ApiKey, KeyPrecondition, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::OrganizationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::{ApiKeys, DescendantKeys, StorageError};

use super::{BrokenStore, Fault, lock};

#[async_trait]
impl PlannedEndStore for BrokenStore {
    async fn has_due(&self, now: DateTime<Utc>) -> Result<bool, StorageError> {
        self.sound.has_due(now).await
    }

    async fn record_ends_of_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        self.sound.record_ends_of_keys(self.batch(at_most), act).await
    }

    async fn end_rotated_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        let for_ended = match self.fault {
            Fault::EndsKeysForEndedSuccessors => self.end_for_ended_successors(&act).await?,
            _ => 0,
        };
        let ended = self.sound.end_rotated_keys(self.batch(at_most), act).await?;
        Ok(for_ended + ended)
    }

    async fn record_ends_of_memberships(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        if self.fault == Fault::RecordsEndsOfKeysOnly {
            return Ok(0);
        }
        let open = self.all_open().await?;
        let recorded = self
            .sound
            .record_ends_of_memberships(self.batch(at_most), act)
            .await?;
        if self.fault == Fault::KeepsInvitationsAtRecordedEnds {
            self.reopen(open, |_| true).await?;
        }
        Ok(recorded)
    }
}

impl BrokenStore {
    fn batch(&self, at_most: u32) -> u32 {
        match self.fault {
            Fault::RecordsEndsWithoutLimit => u32::MAX,
            _ => at_most,
        }
    }

    /// Ends keys whose successors were used, and have ended.
    async fn end_for_ended_successors(&self, act: &Act) -> Result<u32, StorageError> {
        let consumers: Vec<_> = lock(&self.consumers).clone().into_iter().collect();
        let mut ended = 0;
        for (key, consumer) in consumers {
            let Some(key) = ApiKeys::find(&self.sound, consumer, key).await? else {
                continue;
            };
            let Some(successor) = key.rotated_to else {
                continue;
            };
            let successor = ApiKeys::find(&self.sound, consumer, successor).await?;
            let is_used = |key: &ApiKey| key.last_use.is_some() && !key.is_valid(act.at);
            if key.is_valid(act.at) && key.ends_on_first_use() && successor.as_ref().is_some_and(is_used) {
                let cause = RevocationReason::Rotation.into();
                let revoked = ApiKeys::revoke(
                    &self.sound,
                    consumer,
                    key.id,
                    cause,
                    DescendantKeys::Keep,
                    KeyPrecondition::AnyVersion,
                    act.clone(),
                );
                ended += u32::from(revoked.await.is_ok());
            }
        }
        Ok(ended)
    }

    /// The invitations that have not ended.
    pub(super) async fn all_open(&self) -> Result<Vec<Invitation>, StorageError> {
        let mut open = Vec::new();
        let organizations: Vec<OrganizationId> = lock(&self.inviting).iter().copied().collect();
        for organization in organizations {
            open.extend(self.open_of(organization).await?);
        }
        Ok(open)
    }

    pub(super) async fn open_of(
        &self,
        organization: OrganizationId,
    ) -> Result<Vec<Invitation>, StorageError> {
        let all = PageRequest::first(PageSize::EXPORT);
        let pending = InvitationStore::pending(&self.sound, organization, all).await?;
        Ok(pending.items)
    }

    /// Shows such invitations once more that have ended since.
    pub(super) async fn reopen(
        &self,
        before: Vec<Invitation>,
        is_meant: impl Fn(&Invitation) -> bool,
    ) -> Result<(), StorageError> {
        let now = self.all_open().await?;
        let revoked = before
            .into_iter()
            .filter(|before| is_meant(before) && now.iter().all(|open| open.id != before.id));
        lock(&self.kept_invitations).extend(revoked);
        Ok(())
    }
}
