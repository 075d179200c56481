use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    AddInvitationError, InvitationStore, NewInvitation, OpenInvitationCounts, RevokeInvitationError,
};
use keyward_domain::audit::Act;
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use keyward_domain::invitation::Invitation;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::{BrokenStore, Fault, List, Secret, lock};

#[async_trait]
impl InvitationStore for BrokenStore {
    async fn add(&self, new: NewInvitation, act: Act) -> Result<(), AddInvitationError> {
        self.keep_digest(Secret::Invitation, new.digest.as_bytes());
        lock(&self.inviting).insert(new.invitation.organization_id);
        lock(&self.invited_at).insert(new.invitation.id, new.invitation.created_at);
        if self.fault == Fault::CountsExpiredInvitations
            && self.open_of(new.invitation.organization_id).await?.len() >= Invitation::MAX_OPEN
        {
            return Err(AddInvitationError::LimitReached);
        }
        match InvitationStore::add(&self.sound, new, act).await {
            Err(AddInvitationError::LimitReached) if self.fault == Fault::IgnoresInvitationLimit => Ok(()),
            answer => answer,
        }
    }

    async fn pending(
        &self,
        organization: OrganizationId,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError> {
        let ask = |page| self.sound.pending(organization, page);
        let Page { items, next } = self.page(List::Invitations, false, page, ask).await?;
        let items = items
            .into_iter()
            .map(|invitation| self.invitation_as_read(invitation))
            .chain(lock(&self.kept_invitations).iter().cloned())
            .collect();
        Ok(Page { items, next })
    }

    async fn revoke(
        &self,
        organization: OrganizationId,
        id: InvitationId,
        act: Act,
    ) -> Result<(), RevokeInvitationError> {
        InvitationStore::revoke(&self.sound, organization, id, act).await
    }

    async fn count_open(
        &self,
        organization: OrganizationId,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<OpenInvitationCounts, StorageError> {
        self.sound.count_open(organization, user, at).await
    }
}
