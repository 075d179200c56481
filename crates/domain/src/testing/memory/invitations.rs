use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State, StoredInvitation, newest_first};
use crate::administration::ports::{
    AddInvitationError, InvitationStore, NewInvitation, OpenInvitationCounts, RevokeInvitationError,
};
use crate::audit::{Act, Actor, AuditEvent};
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::invitation::{Invitation, InvitationDigest, InvitationEnd};
use crate::membership::Membership;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::sign_in::accounts::Account;
use crate::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError, OpenInvitations, PendingInvitation};

#[async_trait]
impl InvitationStore for MemoryStore {
    async fn add(&self, new: NewInvitation, act: Act) -> Result<(), AddInvitationError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        let NewInvitation {
            invitation,
            digest,
            idempotency_key,
        } = new;
        let (organization, at) = (invitation.organization_id, act.at);
        if !state.may_administer(organization, act.actor, at) {
            return Err(AddInvitationError::NotAllowed);
        }
        if let Some(first) = state.invitations_created_with.find(organization, idempotency_key) {
            return Err(AddInvitationError::AlreadyCreated(first));
        }
        if state.open_invitations(organization, at).count() >= Invitation::MAX_OPEN {
            return Err(AddInvitationError::LimitReached);
        }
        state.write(vec![act.creation_of_invitation(invitation.id)])?;
        state
            .invitations_created_with
            .note(organization, idempotency_key, invitation.id);
        let invitation = invitation.created_after(state.newest_end_of_membership(organization, at));
        state.invitations.push(StoredInvitation { invitation, digest });
        Ok(())
    }

    async fn pending(
        &self,
        organization: OrganizationId,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError> {
        let state = self.state()?;
        let pending = state
            .invitations
            .iter()
            .map(|stored| &stored.invitation)
            .filter(|invitation| invitation.organization_id == organization && invitation.end.is_none())
            .cloned()
            .collect();
        Ok(newest_first(pending, page, |invitation: &Invitation| {
            invitation.id
        }))
    }

    async fn revoke(
        &self,
        organization: OrganizationId,
        id: InvitationId,
        act: Act,
    ) -> Result<(), RevokeInvitationError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(RevokeInvitationError::NotAllowed);
        }
        let invitation = state
            .invitation(id)
            .filter(|invitation| invitation.organization_id == organization)
            .ok_or(RevokeInvitationError::NotFound)?;
        match invitation.end {
            Some(InvitationEnd::Accepted { .. }) => Err(RevokeInvitationError::Accepted),
            Some(InvitationEnd::Revoked { .. }) => Ok(()),
            None => {
                state.write(vec![act.invitation_revoked(id)])?;
                state.end_invitation(id, InvitationEnd::Revoked { at: act.at });
                Ok(())
            }
        }
    }

    async fn count_open(
        &self,
        organization: OrganizationId,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<OpenInvitationCounts, StorageError> {
        let state = self.state()?;
        let by_user = state.open_invitations_by(organization, user, at).len();
        let open = state.open_invitations(organization, at).count();
        Ok(OpenInvitationCounts {
            by_user: by_user as u64,
            by_others: (open - by_user) as u64,
        })
    }
}

#[async_trait]
impl OpenInvitations for MemoryStore {
    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<PendingInvitation>, StorageError> {
        let state = self.state()?;
        let stored = state
            .invitations
            .iter()
            .find(|stored| stored.digest == *digest && stored.invitation.end.is_none())
            .filter(|stored| state.inviter_may_invite(&stored.invitation, now))
            .filter(|stored| visitor.is_none_or(|user| !state.has_left_since(&stored.invitation, user, now)));
        Ok(stored.and_then(|stored| {
            Some(PendingInvitation {
                invitation: stored.invitation.clone(),
                organization: state.organization(stored.invitation.organization_id)?.clone(),
            })
        }))
    }

    async fn accept_as_newcomer(
        &self,
        id: InvitationId,
        account: Account,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptAsNewcomerError> {
        let mut state = self.state()?;
        state
            .invitation_for(id, &membership)
            .ok_or(AcceptAsNewcomerError::NotOpen)?;
        let username = &account.user.username;
        if state
            .accounts
            .iter()
            .any(|known| known.user.username == *username)
        {
            return Err(AcceptAsNewcomerError::UsernameTaken);
        }
        state.write(events)?;
        state.accounts.push(account);
        state.begin_with_invitation(id, membership);
        Ok(())
    }

    async fn accept_as_user(
        &self,
        id: InvitationId,
        membership: Membership,
        events: Vec<AuditEvent>,
        act: Act,
    ) -> Result<(), AcceptAsUserError> {
        let mut state = self.state()?;
        let user = membership.user_id;
        state
            .invitation_for(id, &membership)
            .filter(|invitation| !state.has_left_since(invitation, user, membership.joined_at))
            .ok_or(AcceptAsUserError::NotOpen)?;
        if state
            .live_memberships(membership.organization_id, membership.joined_at)
            .any(|member| member.user_id == user)
        {
            return Err(AcceptAsUserError::AlreadyMember);
        }
        let earlier = state.due_memberships(membership.joined_at).filter(|earlier| {
            earlier.organization_id == membership.organization_id && earlier.user_id == user
        });
        let ends = earlier
            .map(|membership| state.due_end_of_membership(membership, &act))
            .collect();
        state.end_memberships(ends, events)?;
        state.begin_with_invitation(id, membership);
        Ok(())
    }
}

impl State {
    /// Writes the event of a change after which a user may not invite any more, takes their open invitations
    /// back, and writes that, too.
    pub(super) fn write_with_revoked_invitations(
        &mut self,
        event: AuditEvent,
        organization: OrganizationId,
        inviter: UserId,
        act: &Act,
    ) -> Result<(), StorageError> {
        let open = self.open_invitations_by(organization, inviter, act.at);
        let revoked = open.iter().map(|id| act.invitation_revoked(*id));
        self.write([event].into_iter().chain(revoked).collect())?;
        for id in open {
            self.end_invitation(id, InvitationEnd::Revoked { at: act.at });
        }
        Ok(())
    }

    pub(super) fn open_invitations_by(
        &self,
        organization: OrganizationId,
        inviter: UserId,
        at: DateTime<Utc>,
    ) -> Vec<InvitationId> {
        let open = self.open_invitations(organization, at);
        let open = open.filter(|open| open.invited_by == Actor::User(inviter));
        open.map(|open| open.id).collect()
    }

    fn inviter_may_invite(&self, invitation: &Invitation, now: DateTime<Utc>) -> bool {
        self.may_administer(invitation.organization_id, invitation.invited_by, now)
    }

    fn has_left_since(&self, invitation: &Invitation, user: UserId, now: DateTime<Utc>) -> bool {
        self.memberships.iter().any(|membership| {
            membership.user_id == user && invitation.was_created_before_end(membership, now)
        })
    }

    fn open_invitations(
        &self,
        organization: OrganizationId,
        at: DateTime<Utc>,
    ) -> impl Iterator<Item = &Invitation> {
        self.invitations
            .iter()
            .map(|stored| &stored.invitation)
            .filter(move |invitation| invitation.organization_id == organization && invitation.is_open(at))
    }

    fn invitation(&self, id: InvitationId) -> Option<&Invitation> {
        self.invitations
            .iter()
            .map(|stored| &stored.invitation)
            .find(|invitation| invitation.id == id)
    }

    /// The invitation, if the membership may begin with it.
    fn invitation_for(&self, id: InvitationId, membership: &Membership) -> Option<&Invitation> {
        self.invitation(id).filter(|invitation| {
            invitation.is_for(membership) && self.inviter_may_invite(invitation, membership.joined_at)
        })
    }

    fn begin_with_invitation(&mut self, id: InvitationId, membership: Membership) {
        let end = InvitationEnd::Accepted {
            at: membership.joined_at,
            membership_id: membership.id,
        };
        self.end_invitation(id, end);
        self.memberships.push(membership);
    }

    pub(super) fn end_invitation(&mut self, id: InvitationId, end: InvitationEnd) {
        for stored in self
            .invitations
            .iter_mut()
            .filter(|stored| stored.invitation.id == id)
        {
            stored.invitation.end = Some(end);
        }
    }
}
