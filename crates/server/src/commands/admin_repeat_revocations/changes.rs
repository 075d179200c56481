//! Changes that are repeated one by one, unless they are so already.

use std::collections::HashSet;
use std::error::Error;

use keyward_domain::administration::ports::{
    ChangeProjectError, ChangeProjectMembersError, ChangeRoleError, EndMembershipError, RevokeInvitationError,
};
use keyward_domain::audit::RequestSource;
use keyward_domain::id::{InvitationId, MembershipId, ProjectId};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::StorageError;

use super::repetition::{RepeatOutcome, Repetition};

impl Repetition<'_> {
    pub(super) async fn end_membership(&self, member: MembershipId) -> Result<RepeatOutcome, StorageError> {
        if self.live(member).await?.is_none() {
            return Ok(RepeatOutcome::AlreadySo);
        }
        let members = self.composition.members();
        let ended = members.remove(&self.authority, member, RequestSource::default());
        match ended.await {
            Ok(()) => Ok(RepeatOutcome::Repeated),
            Err(EndMembershipError::NotFound) => Ok(RepeatOutcome::AlreadySo),
            Err(EndMembershipError::Storage(error)) => Err(error),
            Err(error @ (EndMembershipError::LastOwner | EndMembershipError::NotAllowed)) => refused(error),
        }
    }

    pub(super) async fn make_member(&self, member: MembershipId) -> Result<RepeatOutcome, StorageError> {
        let membership = self.live(member).await?;
        if membership.is_none_or(|membership| membership.role == Role::Member) {
            return Ok(RepeatOutcome::AlreadySo);
        }
        let members = self.composition.members();
        let changed = members.change_role(&self.authority, member, Role::Member, RequestSource::default());
        match changed.await {
            Ok(()) => Ok(RepeatOutcome::Repeated),
            Err(ChangeRoleError::NotFound) => Ok(RepeatOutcome::AlreadySo),
            Err(ChangeRoleError::Storage(error)) => Err(error),
            Err(
                error @ (ChangeRoleError::LastOwner
                | ChangeRoleError::NotAllowed
                | ChangeRoleError::Throttled(_)),
            ) => refused(error),
        }
    }

    /// Revokes one that is [pending](Self::pending_invitations).
    pub(super) async fn revoke_invitation(&self, id: InvitationId) -> Result<RepeatOutcome, StorageError> {
        let invitations = self.composition.invitations();
        let revoked = invitations.revoke(&self.authority, id, RequestSource::default());
        match revoked.await {
            Ok(()) => Ok(RepeatOutcome::Repeated),
            Err(RevokeInvitationError::Accepted | RevokeInvitationError::NotFound) => {
                Ok(RepeatOutcome::AlreadySo)
            }
            Err(RevokeInvitationError::Storage(error)) => Err(error),
            Err(error @ RevokeInvitationError::NotAllowed) => refused(error),
        }
    }

    /// The invitations that were neither accepted nor revoked. Expired ones are revoked, too, because a clock
    /// may be wrong.
    pub(super) async fn pending_invitations(&self) -> Result<HashSet<InvitationId>, StorageError> {
        let invitations = self.composition.invitations();
        let mut pending = HashSet::new();
        let mut request = PageRequest::first(PageSize::EXPORT);
        loop {
            let page = invitations.pending(&self.authority, request).await?;
            pending.extend(page.items.into_iter().map(|invitation| invitation.id));
            if page.next.is_none() {
                return Ok(pending);
            }
            request.after = page.next;
        }
    }

    pub(super) async fn archive(&self, id: ProjectId) -> Result<RepeatOutcome, StorageError> {
        let projects = self.composition.projects();
        let found = projects.find(&self.authority, id, self.now).await?;
        if !found.is_some_and(|found| found.project.is_active()) {
            return Ok(RepeatOutcome::AlreadySo);
        }
        match projects
            .archive(&self.authority, id, RequestSource::default())
            .await
        {
            Ok(()) => Ok(RepeatOutcome::Repeated),
            Err(ChangeProjectError::Storage(error)) => Err(error),
            Err(
                error @ (ChangeProjectError::NotFound
                | ChangeProjectError::NotAllowed
                | ChangeProjectError::Throttled(_)),
            ) => refused(error),
        }
    }

    pub(super) async fn remove_from_project(
        &self,
        project: ProjectId,
        member: MembershipId,
    ) -> Result<RepeatOutcome, StorageError> {
        let projects = self.composition.projects();
        let found = projects
            .members_among(&self.authority, project, &[member], self.now)
            .await?;
        if found.is_empty() {
            return Ok(RepeatOutcome::AlreadySo);
        }
        let removed = projects.remove_member(&self.authority, project, member, RequestSource::default());
        match removed.await {
            Ok(()) => Ok(RepeatOutcome::Repeated),
            Err(ChangeProjectMembersError::MemberNotFound) => Ok(RepeatOutcome::AlreadySo),
            Err(ChangeProjectMembersError::Storage(error)) => Err(error),
            Err(
                error @ (ChangeProjectMembersError::ProjectNotFound
                | ChangeProjectMembersError::NotAllowed
                | ChangeProjectMembersError::Throttled(_)),
            ) => refused(error),
        }
    }

    async fn live(&self, member: MembershipId) -> Result<Option<Membership>, StorageError> {
        let members = self.composition.members();
        let found = members.identify(&self.authority, member, self.now).await?;
        Ok(found.map(|found| found.membership))
    }
}

fn refused(error: impl Error + 'static) -> Result<RepeatOutcome, StorageError> {
    Ok(RepeatOutcome::Refused(Box::new(error)))
}
