//! Invitations, as people with an invitation's link find and accept them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::{Act, AuditEvent};
use crate::id::{InvitationId, UserId};
use crate::invitation::{InvitationDigest, PendingInvitation};
use crate::membership::Membership;
use crate::ports::StorageError;
use crate::rate::Throttled;
use crate::sign_in::account::Account;
use crate::sign_in::password::HashingError;

/// Finds invitations by their links and accepts them. Owners create and revoke invitations with
/// [`InvitationStore`](crate::administration::ports::InvitationStore).
///
/// Accepting an invitation ends it and begins a membership, both at the moment when the membership begins.
/// Both methods that accept MUST make their checks in the given order, in the same transaction. Of any number
/// of concurrent calls of either method for one invitation, each of which could succeed alone, exactly one
/// MUST succeed. First of all, both MUST check that the invitation
/// [is for](crate::invitation::Invitation::is_for) this membership, and that its inviter may still invite: an
/// administrator, or a user who is a live owner of the organization. Else they refuse with `NotOpen`.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait OpenInvitations: Send + Sync {
    /// The invitation whose secret has this digest. `None` if it has ended, if its inviter may not invite any
    /// more, or if it [was created before the end](crate::invitation::Invitation::was_created_before_end) of
    /// a membership of the visitor; all as of the moment `now`. Without a visitor, memberships are not
    /// checked. An expired invitation is returned: the caller decides about its expiry.
    async fn find(
        &self,
        digest: &InvitationDigest,
        visitor: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<PendingInvitation>, StorageError>;

    /// Accepts an invitation for a new user, whose account it adds. MUST check that the username is free;
    /// else [`AcceptAsNewcomerError::UsernameTaken`].
    async fn accept_as_newcomer(
        &self,
        id: InvitationId,
        account: Account,
        membership: Membership,
        events: Vec<AuditEvent>,
    ) -> Result<(), AcceptAsNewcomerError>;

    /// Accepts an invitation for the user of the membership, who has an account. Also while memberships of
    /// the user begin or end concurrently, it MUST check:
    /// 1. the invitation
    ///    [was not created before the end](crate::invitation::Invitation::was_created_before_end) of a
    ///    membership of this user in the organization; else [`AcceptAsUserError::NotOpen`];
    /// 2. the user has no live membership in the organization; else [`AcceptAsUserError::AlreadyMember`].
    ///
    /// If the end of an earlier membership of the user in the organization is
    /// [due](crate::validity::End::is_due), MUST
    /// [record](crate::planned_ends::ports::PlannedEndStore::record_ends_of_memberships) it in the same
    /// transaction, so that the user does not regain the projects and invitations that end with it. `events`
    /// are events of `act`.
    async fn accept_as_user(
        &self,
        id: InvitationId,
        membership: Membership,
        events: Vec<AuditEvent>,
        act: Act,
    ) -> Result<(), AcceptAsUserError>;
}

/// Why a newcomer did not join.
#[derive(Debug, thiserror::Error)]
pub enum AcceptAsNewcomerError {
    /// The invitation is unknown, accepted, revoked or expired, or its inviter may not invite any more.
    #[error("the invitation is not valid")]
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
    /// The invitation is unknown, accepted, revoked or expired, its inviter may not invite any more, or the
    /// user has left or been removed since it was created.
    #[error("the invitation is not valid")]
    NotOpen,
    /// The user is a member already; the invitation stays open.
    #[error("the user is a member already")]
    AlreadyMember,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
