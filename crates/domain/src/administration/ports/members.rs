//! The store of members.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::administration::member_overview::{
    LeavingPreview, MemberFilter, MemberOverview, MemberProfile, WhichMember,
};
use crate::api_key::{ApiKey, ExpiryChange, InvalidExpiry};
use crate::audit::Act;
use crate::id::{MembershipId, OrganizationId};
use crate::membership::Role;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::rate::Throttled;

/// Keeps who belongs to an organization, and as what.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait MemberStore: Send + Sync {
    /// A page of the live members that pass the filter, by descending identifier.
    async fn list(
        &self,
        organization: OrganizationId,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError>;

    /// Finds a live member.
    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberOverview>, StorageError>;

    /// Who one live member is.
    ///
    /// The time MUST NOT grow with the number of the member's keys or of the organization's members, so that
    /// any member can be removed.
    async fn identify(
        &self,
        organization: OrganizationId,
        member: WhichMember,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberProfile>, StorageError>;

    /// Which keys of a member stop working when the membership ends. No keys for a membership of another
    /// organization.
    ///
    /// MUST NOT read every key in full: a member may have tens of thousands.
    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError>;

    /// Whether the organization has a [permanent owner](crate::membership::Membership::is_permanent_owner)
    /// besides this member. It is for people to know beforehand: what counts is what
    /// [`MemberStore::change_role`] and [`MemberStore::end`] check.
    async fn has_other_permanent_owner(
        &self,
        organization: OrganizationId,
        member: MembershipId,
    ) -> Result<bool, StorageError>;

    /// Changes the role of a live member.
    ///
    /// MUST check in this order, after who acts: the member exists, else [`ChangeRoleError::NotFound`]; if
    /// the member is an owner, the organization has another
    /// [permanent owner](crate::membership::Membership::is_permanent_owner), else
    /// [`ChangeRoleError::LastOwner`], also under concurrent changes. MUST write [`Act::new_role`], unless
    /// they have the role already: then nothing changes.
    ///
    /// MUST in the same transaction revoke every [open](crate::invitation::Invitation::is_open) invitation of
    /// the organization that an owner who becomes a plain member has made, and write
    /// [`Act::invitation_revoked`] for each.
    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError>;

    /// Sets, moves or removes the planned end of a live membership.
    ///
    /// MUST check in this order, after who acts, and at the moment at which nothing can change any more: the
    /// member exists, else [`ChangeMembershipExpiryError::NotFound`]; the end
    /// [lies ahead](ExpiryChange::check); if an end is set and the member is an owner, the organization has
    /// another [permanent owner](crate::membership::Membership::is_permanent_owner), else
    /// [`ChangeMembershipExpiryError::LastOwner`], also under concurrent changes. MUST write
    /// [`Act::change_of_membership_expiry`], unless that end is planned already: then nothing changes.
    ///
    /// An end that has come is final, also while it is [due](crate::validity::End::is_due): such a member is
    /// not found.
    async fn change_expiry(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        change: ExpiryChange,
        act: Act,
    ) -> Result<(), ChangeMembershipExpiryError>;

    /// Ends a live membership, also one whose end is planned, takes the member out of all projects, and
    /// writes [`Act::end_of_membership`].
    ///
    /// It ends at the time of the act or, if that is later, when the newest of the organization's invitations
    /// was created that were neither accepted nor revoked before. The store MUST prevent that an invitation is
    /// added concurrently, so that every invitation that exists when the end is committed [precedes
    /// it](crate::invitation::Invitation::was_created_before_end), even if it was created by a clock that is
    /// ahead of the act's.
    ///
    /// Here the member may act as well, in any role. After that, MUST check in this order: the member exists,
    /// else [`EndMembershipError::NotFound`]; if the member is an owner, the organization has another
    /// [permanent owner](crate::membership::Membership::is_permanent_owner), else
    /// [`EndMembershipError::LastOwner`], also under concurrent changes.
    ///
    /// If the membership's end is [due](crate::validity::End::is_due), a store MUST
    /// [record](crate::planned_ends::ports::PlannedEndStore::record_ends_of_memberships) it instead, even if
    /// no permanent owner remains, and succeed: the membership has ended.
    ///
    /// MUST in the same transaction revoke the member's invitations as [`MemberStore::change_role`] does.
    ///
    /// Once it returns, [`Credentials::find`](crate::ports::Credentials::find) MUST NOT return an accepted
    /// credential for any key of this consumer.
    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError>;
}

/// Why a role was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeRoleError {
    /// The actor is not an owner any more.
    #[error("only an owner may change roles")]
    NotAllowed,
    /// The organization has no such live member.
    #[error("no such member")]
    NotFound,
    /// Every other owner's membership has a planned end, or there is no other owner.
    #[error(
        "an organization needs an owner whose membership has no planned end: make someone else an owner first"
    )]
    LastOwner,
    /// The owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why the planned end of a membership was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeMembershipExpiryError {
    /// The actor is not an owner any more.
    #[error("only an owner may plan when a membership ends")]
    NotAllowed,
    /// The organization has no such live member.
    #[error("no such member")]
    NotFound,
    /// The end does not lie ahead.
    #[error("the end of a membership {0}")]
    InvalidExpiry(#[from] InvalidExpiry),
    /// Every other owner's membership has a planned end, or there is no other owner.
    #[error(
        "an organization needs an owner whose membership has no planned end: make someone else an owner first"
    )]
    LastOwner,
    /// The owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a membership was not ended.
#[derive(Debug, thiserror::Error)]
pub enum EndMembershipError {
    /// The actor is neither an owner any more nor the member.
    #[error("only an owner may remove members")]
    NotAllowed,
    /// The organization has no such live member.
    #[error("no such member")]
    NotFound,
    /// Every other owner's membership has a planned end, or there is no other owner.
    #[error(
        "an organization needs an owner whose membership has no planned end: make someone else an owner first"
    )]
    LastOwner,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
