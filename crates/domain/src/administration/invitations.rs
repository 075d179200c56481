//! Invitations, for owners. Accepting them is [`Joining`](crate::sign_in::Joining).

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::administration::Authority;
use crate::administration::change_limit::ChangeLimit;
use crate::administration::ports::{
    AddInvitationError, InvitationStore, NewInvitation, OpenInvitationCounts, RevokeInvitationError,
};
use crate::audit::RequestSource;
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::idempotency_key::IdempotencyKey;
use crate::invitation::{Invitation, InvitationToken, Invitee};
use crate::membership::Role;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::sign_in::ports::Throttle;
use crate::sources::Sources;

/// The owner's input for a new invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationDraft {
    /// The person invited, in the inviter's words; not an account.
    pub invitee: Invitee,
    /// The role of the membership that it begins.
    pub role: Role,
}

/// A new invitation with the secret of its link, which is shown once.
#[derive(Debug)]
pub struct IssuedInvitation {
    /// As it was to be stored, without its token.
    /// [`InvitationStore::add`] may have stored a later time of creation.
    pub invitation: Invitation,
    /// The secret, which is not stored.
    pub token: InvitationToken,
}

/// The use cases of invitations, for owners.
#[derive(Clone)]
pub struct Invitations {
    invitations: Arc<dyn InvitationStore>,
    limit: ChangeLimit,
    sources: Sources,
}

impl Invitations {
    /// The use cases over a store.
    #[must_use]
    pub fn new(invitations: Arc<dyn InvitationStore>, throttle: Arc<dyn Throttle>, sources: Sources) -> Self {
        Self {
            invitations,
            limit: ChangeLimit(throttle),
            sources,
        }
    }

    /// Creates an invitation, valid for [`Invitation::LIFETIME`].
    ///
    /// # Errors
    /// See [`AddInvitationError`]; then there is no invitation, but for
    /// [`AddInvitationError::AlreadyCreated`].
    pub async fn invite(
        &self,
        authority: &Authority,
        draft: InvitationDraft,
        idempotency_key: Option<IdempotencyKey>,
        source: RequestSource,
    ) -> Result<IssuedInvitation, AddInvitationError> {
        let act = authority.act(&self.sources, source);
        self.limit.count::<AddInvitationError>(authority, act.at).await?;
        let token = InvitationToken::generate(&self.sources);
        let invitation = Invitation {
            id: self.sources.next_id(),
            organization_id: authority.organization_id(),
            invitee: draft.invitee,
            role: draft.role,
            invited_by: authority.as_actor(),
            created_at: act.at,
            expires_at: act.at + Invitation::LIFETIME,
            end: None,
        };
        let new = NewInvitation {
            invitation: invitation.clone(),
            digest: token.digest(),
            idempotency_key,
        };
        self.invitations.add(new, act).await?;
        Ok(IssuedInvitation { invitation, token })
    }

    /// A page of the invitations that were neither accepted nor revoked, newest first, including expired
    /// ones.
    pub async fn pending(
        &self,
        authority: &Authority,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError> {
        self.invitations.pending(authority.organization_id(), page).await
    }

    /// Counts an organization's open invitations: those of a user, and those of others.
    pub async fn count_open(
        &self,
        organization: OrganizationId,
        user: UserId,
        now: DateTime<Utc>,
    ) -> Result<OpenInvitationCounts, StorageError> {
        self.invitations.count_open(organization, user, now).await
    }

    /// Revokes an invitation. Idempotent.
    ///
    /// # Errors
    /// See [`RevokeInvitationError`]; then nothing was changed.
    pub async fn revoke(
        &self,
        authority: &Authority,
        id: InvitationId,
        source: RequestSource,
    ) -> Result<(), RevokeInvitationError> {
        let act = authority.act(&self.sources, source);
        self.invitations
            .revoke(authority.organization_id(), id, act)
            .await
    }
}
