//! Invitations, as whoever has a link finds and takes them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::{Act, AuditEvent};
use crate::id::{InvitationId, UserId};
use crate::invitation::{InvitationDigest, OpenInvitation};
use crate::membership::Membership;
use crate::ports::StorageError;
use crate::rate::Throttled;
use crate::sign_in::account::Account;
use crate::sign_in::password::HashingError;

/// Keeps what links lead to, and lets people join. The owners' side of it is
/// [`InvitationStore`](crate::administration::ports::InvitationStore).
///
/// To accept an invitation is to end it and to begin a membership, at the moment that the membership begins. Either way
/// to do so MUST make its checks in their order, in the same transaction, and so that of any number of concurrent calls,
/// of both, one succeeds. Before all else it MUST check that the invitation [is for](crate::invitation::Invitation::is_for) this
/// membership, and that whoever made it may still invite: an administrator, or a live owner of the organization. Else it
/// refuses with `NotOpen`.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait OpenInvitations: Send + Sync {
    /// The invitation whose secret has this digest, unless it has ended, or whoever made it may not invite any more, or
    /// it [precedes the end](crate::invitation::Invitation::was_created_before_end) of a membership of the visitor, if it is known who that is.
    /// Whether it has expired is for the caller to say; the rest holds at the moment `now`.
    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<OpenInvitation>, StorageError>;

    /// Accepts an invitation for somebody whose account begins with it. MUST check that the username is free; else
    /// [`AcceptAsNewcomerError::UsernameTaken`].
    async fn accept_as_newcomer(
        &self,
        id: InvitationId,
        account: Account,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptAsNewcomerError>;

    /// Accepts an invitation for the user of the membership, who has an account. Whatever ends or begins at the same
    /// time, it MUST check:
    /// 1. the invitation does not [precede the end](crate::invitation::Invitation::was_created_before_end) of a membership of theirs; else
    ///    [`AcceptAsUserError::NotOpen`];
    /// 2. they have no live membership there; else [`AcceptAsUserError::AlreadyMember`].
    ///
    /// If the end of an earlier membership of theirs is [due](crate::validity::End::is_due), MUST
    /// [record](crate::planned_ends::ports::PlannedEndStore::record_ends_of_memberships) it in the same transaction: what it
    /// takes with it does not come back with the user. The act is whose events these are.
    async fn accept_as_user(
        &self,
        id: InvitationId,
        membership: Membership,
        events: Vec<AuditEvent>,
        act: Act,
    ) -> Result<(), AcceptAsUserError>;
}

/// Why nobody new joined.
#[derive(Debug, thiserror::Error)]
pub enum AcceptAsNewcomerError {
    /// There is no such invitation: unknown, used, taken back, or expired.
    #[error("the invitation does not work any more")]
    NotOpen,
    /// Another user has the username.
    #[error("the username is taken")]
    UsernameTaken,
    /// Too many attempts with this invitation or from this address.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The password could not be hashed.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a user did not join.
#[derive(Debug, thiserror::Error)]
pub enum AcceptAsUserError {
    /// The invitation was used or taken back, or has expired, or the user has left or been removed since.
    #[error("the invitation does not work any more")]
    NotOpen,
    /// The user is a member already; the invitation stays open.
    #[error("the user is a member already")]
    AlreadyMember,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
