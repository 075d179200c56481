//! The invitation, with which a person becomes a member of an organization.

use chrono::{DateTime, TimeDelta, Utc};

use crate::audit::Actor;
use crate::id::{InvitationId, MembershipId, OrganizationId};
use crate::idempotency_key::IdempotencyKey;
use crate::membership::{Membership, Role};
use crate::organization::Organization;
use crate::secret::secret_type;
use crate::text::text_type;

secret_type! {
    /// The secret in an invitation's link, with which one person may join. Shown once.
    InvitationToken,
    /// The stored digest of an [`InvitationToken`].
    InvitationDigest
}

/// An invitation to an organization.
///
/// It can be accepted once, until it expires or an owner revokes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Rises with the time of creation (UUID version 7).
    pub id: InvitationId,
    /// The organization whose member it makes; it never changes.
    pub organization_id: OrganizationId,
    /// The person invited, in the owner's words.
    pub invitee: Invitee,
    /// The role of the membership that it begins.
    pub role: Role,
    /// An owner, or the command line.
    pub invited_by: Actor,
    /// When it was created, or [later](Invitation::created_after) if a membership ended by a clock that was
    /// ahead.
    pub created_at: DateTime<Utc>,
    /// When it expires: a [lifetime](Invitation::LIFETIME) after its creation, by the clock of the server
    /// that created it.
    pub expires_at: DateTime<Utc>,
    /// Its end; `None` while pending.
    pub end: Option<InvitationEnd>,
}

/// How an invitation ended; final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationEnd {
    /// A user joined with it.
    Accepted {
        /// When that was, in UTC.
        at: DateTime<Utc>,
        /// The membership that began.
        membership_id: MembershipId,
    },
    /// An owner revoked it.
    Revoked {
        /// When that was, in UTC.
        at: DateTime<Utc>,
    },
}

impl Invitation {
    /// How long an invitation can be accepted.
    pub const LIFETIME: TimeDelta = TimeDelta::days(7);

    /// The most invitations of an organization that are open at a time. All that a removed or demoted owner
    /// sent are revoked in one transaction, which locks the organization.
    pub const MAX_OPEN: usize = 500;

    /// The least difference of two times that every store keeps apart.
    const CLOCK_STEP: TimeDelta = TimeDelta::milliseconds(1);

    /// Whether it can be accepted: it has not ended, and `now` is before `expires_at`.
    #[must_use]
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        self.end.is_none() && now < self.expires_at
    }

    /// Whether the invitation was created no later than the end of a membership of its organization. Then it
    /// does not work for the user of that membership: a user who left or was removed needs a later
    /// invitation.
    ///
    /// The two times may come from different clocks. So a membership ends no earlier than the newest existing
    /// invitation was created ([`MemberStore::end`](crate::administration::ports::MemberStore::end)), and an
    /// invitation is created later than the ends that exist then ([`Invitation::created_after`]). Both changes
    /// lock the organization, so the times compare as the changes were committed. Only the time of a planned
    /// end stays as it was planned.
    ///
    /// A membership that has not ended by `now` does not exclude its user.
    #[must_use]
    pub fn was_created_before_end(&self, membership: &Membership, now: DateTime<Utc>) -> bool {
        self.organization_id == membership.organization_id
            && !membership.is_live(now)
            && membership.end.is_some_and(|end| self.created_at <= end.at())
    }

    /// The invitation, created later than the newest end of a membership in its organization, if there is
    /// one. Another clock may have timed the end, and an invitation that was made after the end works for the
    /// former member. The invitation expires when it would have.
    #[must_use]
    pub fn created_after(self, newest_end: Option<DateTime<Utc>>) -> Self {
        let after = newest_end.and_then(|end| end.checked_add_signed(Self::CLOCK_STEP));
        Self {
            created_at: after.map_or(self.created_at, |after| after.max(self.created_at)),
            ..self
        }
    }

    /// When the invitation ended or, if it has not ended, when it expires.
    #[must_use]
    pub const fn ended_or_expires_at(&self) -> DateTime<Utc> {
        match self.end {
            Some(InvitationEnd::Accepted { at, .. } | InvitationEnd::Revoked { at }) => at,
            None => self.expires_at,
        }
    }

    /// Whether a membership may begin with it: it is open when the membership begins, and for the same
    /// organization and role.
    #[must_use]
    pub fn is_for(&self, membership: &Membership) -> bool {
        self.is_open(membership.joined_at)
            && self.organization_id == membership.organization_id
            && self.role == membership.role
    }
}

text_type! {
    /// The person invited, in the owner's words: one line of 1 to 100 code points. The username and display
    /// name of the account are chosen later.
    Invitee, max 100, OneLine
}

/// An invitation to be stored.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    /// As it is to be stored, without its token.
    pub invitation: Invitation,
    /// The SHA-256 of its token.
    pub digest: InvitationDigest,
    /// The idempotency key of the form that creates it, if there is one.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// How many invitations of an organization are [open](Invitation::is_open).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenInvitationCounts {
    /// Invitations that one user has made. They are revoked when the user is no longer an owner.
    pub by_user: u64,
    /// Invitations that other users or administrators have made. They stay open then.
    pub by_others: u64,
}

/// An invitation that was neither accepted nor revoked, though it may have expired, and its organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingInvitation {
    /// As it is stored, without its token.
    pub invitation: Invitation,
    /// Accepting the invitation creates a membership in it.
    pub organization: Organization,
}
