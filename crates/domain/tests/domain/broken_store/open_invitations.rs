use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use keyward_domain::invitation::InvitationDigest;
use keyward_domain::membership::Membership;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::ports::{
    AcceptAsNewcomerError, AcceptAsUserError, OpenInvitations, PendingInvitation,
};

use super::{BrokenStore, Fault, Secret, lock};

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
        let found = found.filter(|found| {
            let (invitation, organization) = (found.invitation.id, found.organization.id);
            !visitor.is_some_and(|visitor| self.seems_removed_since(invitation, organization, visitor))
        });
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
        if self.seems_removed_since(id, membership.organization_id, membership.user_id) {
            return Err(AcceptAsUserError::NotOpen);
        }
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

impl BrokenStore {
    fn seems_removed_since(&self, id: InvitationId, organization: OrganizationId, user: UserId) -> bool {
        let invited_at = lock(&self.invited_at).get(&id).copied();
        let removed_until = lock(&self.removed_until).get(&(organization, user)).copied();
        self.fault == Fault::TimesInvitationsByClockAlone
            && removed_until.is_some_and(|until| invited_at.is_some_and(|at| at <= until))
    }
}
