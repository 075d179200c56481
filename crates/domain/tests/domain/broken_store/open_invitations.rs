use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::{InvitationId, UserId};
use keyward_domain::invitation::InvitationDigest;
use keyward_domain::membership::Membership;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::ports::{
    AcceptAsNewcomerError, AcceptAsUserError, OpenInvitations, PendingInvitation,
};

use super::{BrokenStore, Fault, Secret};

#[async_trait]
impl OpenInvitations for BrokenStore {
    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<PendingInvitation>, StorageError> {
        let digest = InvitationDigest::from_bytes(self.taken_for(Secret::Invitation, digest.as_bytes()));
        let found = OpenInvitations::find(&self.sound, &digest, visitor, now).await?;
        Ok(found.map(|found| PendingInvitation {
            invitation: self.invitation_as_read(found.invitation),
            organization: self.organization_as_read(found.organization),
        }))
    }

    async fn accept_as_newcomer(
        &self,
        id: InvitationId,
        account: Account,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptAsNewcomerError> {
        let open = self.all_open().await?;
        let sound = &self.sound;
        sound.accept_as_newcomer(id, account, membership, events).await?;
        if self.fault == Fault::KeepsAcceptedInvitations {
            self.reopen(open, |accepted| accepted.id == id).await?;
        }
        Ok(())
    }

    async fn accept_as_user(
        &self,
        id: InvitationId,
        membership: Membership,
        events: Vec<AuditEvent>,
        act: Act,
    ) -> Result<(), AcceptAsUserError> {
        let open = self.all_open().await?;
        self.sound.accept_as_user(id, membership, events, act).await?;
        match self.fault {
            Fault::KeepsInvitationsAtReturn => self.reopen(open, |other| other.id != id).await?,
            Fault::KeepsAcceptedInvitations => self.reopen(open, |accepted| accepted.id == id).await?,
            _ => {}
        }
        Ok(())
    }
}
