//! The store of invitations.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::Act;
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::invitation::{Invitation, NewInvitation, OpenInvitationCounts};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::rate::Throttled;

/// Stores the invitations of an organization, each with the digest of its link's secret. The port for
/// accepting them is [`OpenInvitations`](crate::sign_in::ports::OpenInvitations).
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait InvitationStore: Send + Sync {
    /// Adds an invitation, [created after](Invitation::created_after) the newest end of those memberships of
    /// the organization that are over at the moment of the act. The store MUST prevent that a membership of the
    /// organization ends concurrently, so that every end that is committed before the invitation precedes it, even if it
    /// was timed by a clock that is ahead of the act's. MUST write the event
    /// `act.creation_of_invitation(id)`.
    ///
    /// MUST check in this order, in the same transaction, and so that of any number of concurrent calls with
    /// one idempotency key one succeeds:
    /// 1. the actor may invite; else [`AddInvitationError::NotAllowed`];
    /// 2. no invitation of the organization, in any state, was added with the same idempotency key; else
    ///    [`AddInvitationError::AlreadyCreated`]; else
    /// 3. fewer than [`Invitation::MAX_OPEN`] invitations of the organization are open at the moment of the
    ///    act; else [`AddInvitationError::LimitReached`].
    async fn add(&self, new: NewInvitation, act: Act) -> Result<(), AddInvitationError>;

    /// A page of the invitations that have not ended, expired or not, by descending identifier.
    async fn pending(
        &self,
        organization: OrganizationId,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError>;

    /// Ends an invitation at the moment of the act, with the event `act.invitation_revoked(id)`. MUST NOT change
    /// one that was revoked before, nor write the event again.
    async fn revoke(
        &self,
        organization: OrganizationId,
        id: InvitationId,
        act: Act,
    ) -> Result<(), RevokeInvitationError>;

    /// How many invitations that are open at that moment a user has made, and how many others. It is for
    /// people to know beforehand: what counts is what [`MemberStore`](super::MemberStore) revokes.
    async fn count_open(
        &self,
        organization: OrganizationId,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<OpenInvitationCounts, StorageError>;
}

/// Why an invitation was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddInvitationError {
    /// The actor is not an owner any more.
    #[error("only an owner may invite")]
    NotAllowed,
    /// This form has made this invitation before; its link is not shown again.
    #[error("this form has made invitation {0} already")]
    AlreadyCreated(InvitationId),
    /// The organization has as many open invitations as it may.
    #[error("at most {} invitations may be open: revoke some first", Invitation::MAX_OPEN)]
    LimitReached,
    /// The owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why an invitation was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeInvitationError {
    /// The actor is not an owner any more.
    #[error("only an owner may revoke an invitation")]
    NotAllowed,
    /// The organization has no such invitation.
    #[error("no such invitation")]
    NotFound,
    /// A user has accepted it.
    #[error("this invitation has already been used")]
    Accepted,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
