use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::InvitationStore;
use keyward_domain::audit::Act;
use keyward_domain::id::OrganizationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::StorageError;

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
        self.sound.end_rotated_keys(self.batch(at_most), act).await
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

    /// The invitations that have not ended.
    pub(super) async fn all_open(&self) -> Result<Vec<Invitation>, StorageError> {
        let mut open = Vec::new();
        let organizations: Vec<OrganizationId> = lock(&self.inviting).iter().copied().collect();
        for organization in organizations {
            open.extend(self.open_of(organization).await?);
        }
        Ok(open)
    }

    async fn open_of(&self, organization: OrganizationId) -> Result<Vec<Invitation>, StorageError> {
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
