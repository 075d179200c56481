//! The store of invitations.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::AuditEvent;
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::invitation::{Invitation, InvitationDigest};
use crate::keys::FormNonce;
use crate::membership::Membership;
use crate::organization::Organization;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::sign_in::accounts::Account;

/// Keeps invitations, each under the digest of its link's secret.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait InvitationStore: Send + Sync {
    /// Adds an invitation.
    ///
    /// MUST check in this order, in the same transaction, and so that of any number of concurrent calls with one nonce
    /// one succeeds:
    /// 1. whoever acts may invite; else [`AddInvitationError::NotAllowed`];
    /// 2. no invitation of the organization, in whatever state, was added with the same nonce; else
    ///    [`AddInvitationError::AlreadyCreated`].
    async fn add(&self, new: NewInvitation, event: AuditEvent) -> Result<(), AddInvitationError>;

    /// A page of the invitations that have not ended, expired or not, by falling identifier.
    async fn pending(
        &self,
        organization: OrganizationId,
        page: PageRequest<InvitationId>,
    ) -> Result<Page<Invitation, InvitationId>, StorageError>;

    /// Ends an invitation at the moment of the event. MUST NOT change one that was revoked before, nor write the event
    /// again.
    async fn revoke(
        &self,
        organization: OrganizationId,
        id: InvitationId,
        event: AuditEvent,
    ) -> Result<(), RevokeInvitationError>;

    /// How many invitations that are [open](Invitation::is_open) at that moment a user has made. It is for people to
    /// know beforehand: what counts is what [`MemberStore`](super::MemberStore) takes back.
    async fn count_open(
        &self,
        organization: OrganizationId,
        inviter: UserId,
        at: DateTime<Utc>,
    ) -> Result<u64, StorageError>;

    /// How many invitations that are open at that moment others than a user have made, administrators among them.
    async fn count_open_by_others(
        &self,
        organization: OrganizationId,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<u64, StorageError>;

    /// The invitation whose secret has this digest, unless it has ended, or whoever made it may not invite any more, or
    /// it [precedes the end](Invitation::precedes_end_of) of a membership of the visitor, if it is known who that is.
    /// Whether it has expired is for the caller to say.
    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
    ) -> Result<Option<OpenInvitation>, StorageError>;

    /// Ends an invitation and begins a membership, at the moment that the membership begins.
    ///
    /// MUST check in this order, in the same transaction, and so that of any number of concurrent calls one succeeds:
    /// 1. the invitation [is for](Invitation::is_for) this membership, whoever made it may still invite (an
    ///    administrator, or a live owner of the organization), and it does not [precede the
    ///    end](Invitation::precedes_end_of) of a membership of a user, whatever ends at the same time; else
    ///    [`AcceptInvitationError::NotOpen`];
    /// 2. a newcomer's username is free; else [`AcceptInvitationError::UsernameTaken`];
    /// 3. a user has no live membership there; else [`AcceptInvitationError::AlreadyMember`].
    async fn accept(
        &self,
        id: InvitationId,
        joiner: Joiner,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptInvitationError>;
}

/// An invitation to be stored.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// Its secret's digest.
    pub digest: InvitationDigest,
    /// The form that made it, if one did.
    pub nonce: Option<FormNonce>,
}

/// An invitation that has not ended, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// The organization.
    pub organization: Organization,
}

/// Who takes an invitation.
#[derive(Debug, Clone)]
pub enum Joiner {
    /// Somebody whose account begins with it.
    Newcomer(Account),
    /// A user who has an account.
    User(UserId),
}

/// Why an invitation was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddInvitationError {
    /// Whoever acts is not an owner any more.
    #[error("only an owner may invite")]
    NotAllowed,
    /// This form has made this invitation before; its link is not shown again.
    #[error("this form has made invitation {0} already")]
    AlreadyCreated(InvitationId),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why an invitation was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeInvitationError {
    /// Whoever acts is not an owner any more.
    #[error("only an owner may take an invitation back")]
    NotAllowed,
    /// The organization has no such invitation.
    #[error("no such invitation")]
    NotFound,
    /// Somebody has joined with it.
    #[error("somebody has joined with this invitation already")]
    Accepted,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why nobody joined.
#[derive(Debug, thiserror::Error)]
pub enum AcceptInvitationError {
    /// The invitation was used or taken back, or has expired, or the user has left or been removed since.
    #[error("the invitation does not work any more")]
    NotOpen,
    /// Another user has the username.
    #[error("the username is taken")]
    UsernameTaken,
    /// The user is a member already; the invitation stays open.
    #[error("the user is a member already")]
    AlreadyMember,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
