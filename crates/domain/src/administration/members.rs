//! Members: roles, removal and leaving.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::administration::Authority;
use crate::administration::change_limit::ChangeLimit;
use crate::administration::ports::{
    ChangeMembershipExpiryError, ChangeRoleError, EndMembershipError, HeldKey, LeavingPreview, MemberFilter,
    MemberOverview, MemberProfile, MemberStore, WhichMember,
};
use crate::api_key::{ApiKey, ExpiryChange};
use crate::audit::{Act, Actor, RequestSource};
use crate::id::{MembershipId, OrganizationId};
use crate::membership::{Member, Membership, Role};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::propagation::{ToAllServers, with_propagation};
use crate::sign_in::ports::Throttle;
use crate::sources::Sources;
use crate::user::Username;

/// The use cases of members: for owners, and for members leaving.
#[derive(Clone)]
pub struct Members {
    members: Arc<dyn MemberStore>,
    limit: ChangeLimit,
    sources: Sources,
    to_all_servers: ToAllServers,
}

impl Members {
    /// The use cases over a store.
    #[must_use]
    pub fn new(members: Arc<dyn MemberStore>, throttle: Arc<dyn Throttle>, sources: Sources) -> Self {
        Self {
            members,
            limit: ChangeLimit(throttle),
            sources,
            to_all_servers: ToAllServers::default(),
        }
    }

    with_propagation!();

    /// A page of those who are members of the organization at this moment, who joined last first.
    pub async fn list(
        &self,
        authority: &Authority,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        self.members
            .list(authority.organization_id(), filter, page, now)
            .await
    }

    /// Finds a live member.
    pub async fn find(
        &self,
        authority: &Authority,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberOverview>, StorageError> {
        self.members.find(authority.organization_id(), id, now).await
    }

    /// Finds the profile of a live member, without the counts of [`Members::find`].
    pub async fn identify(
        &self,
        authority: &Authority,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberProfile>, StorageError> {
        let organization = authority.organization_id();
        self.members
            .identify(organization, WhichMember::Id(id), now)
            .await
    }

    /// The member at this moment who signs in with this name.
    pub async fn find_by_username(
        &self,
        authority: &Authority,
        username: &Username,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberProfile>, StorageError> {
        let member = WhichMember::Username(username.clone());
        let organization = authority.organization_id();
        self.members.identify(organization, member, now).await
    }

    /// Finds by username a member whose keys are to end. If there is none, it waits until no server accepts
    /// keys of a former member: the request that ended the membership may still be waiting.
    pub async fn find_to_end_access(
        &self,
        authority: &Authority,
        username: &Username,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberProfile>, StorageError> {
        let found = self.find_by_username(authority, username, now).await?;
        if found.is_none() {
            self.to_all_servers.wait().await;
        }
        Ok(found)
    }

    /// Whether this live member has to stay an owner for now, since the organization has no other
    /// [permanent one](Membership::is_permanent_owner).
    pub async fn is_last_owner(&self, membership: &Membership) -> Result<bool, StorageError> {
        match membership.role {
            Role::Owner => {
                let others = self
                    .members
                    .has_other_permanent_owner(membership.organization_id, membership.id);
                Ok(!others.await?)
            }
            Role::Member => Ok(false),
        }
    }

    /// Previews the removal of a live member: the keys that stop working, and how many of them were used
    /// after a given time.
    pub async fn removal_preview(
        &self,
        authority: &Authority,
        holder: &MemberProfile,
        used_after: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<LeavingPreview<HeldKey>, StorageError> {
        let (organization, id) = (authority.organization_id(), holder.membership.id);
        let preview = self.members.leaving_preview(organization, id, used_after, now);
        let LeavingPreview {
            keys,
            recently_used,
            first,
        } = preview.await?;
        let first = first.into_iter().map(|key| HeldKey::new(key, holder.clone()));
        Ok(LeavingPreview {
            keys,
            recently_used,
            first: first.collect(),
        })
    }

    /// Previews leaving: the member's keys that stop working, and how many of them were used after a given
    /// time.
    pub async fn leaving_preview(
        &self,
        member: &Member,
        used_after: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        let (organization, id) = (member.organization.id, member.membership.id);
        self.members
            .leaving_preview(organization, id, used_after, now)
            .await
    }

    /// Changes a member's role. An owner who becomes a member loses their open invitations. Does nothing if
    /// the member has the role already.
    ///
    /// # Errors
    /// See [`ChangeRoleError`]; then nothing was changed.
    pub async fn change_role(
        &self,
        authority: &Authority,
        id: MembershipId,
        role: Role,
        source: RequestSource,
    ) -> Result<(), ChangeRoleError> {
        let act = authority.act(&self.sources, source);
        if role == Role::Owner {
            self.limit.count::<ChangeRoleError>(authority, act.at).await?;
        }
        self.members
            .change_role(authority.organization_id(), id, role, act)
            .await
    }

    /// Sets, moves or removes the planned end of a membership. When this returns, every server knows the new
    /// end: from that time on, the consumer's keys give no access.
    ///
    /// # Errors
    /// See [`ChangeMembershipExpiryError`]; then nothing was changed.
    pub async fn change_expiry(
        &self,
        authority: &Authority,
        id: MembershipId,
        change: ExpiryChange,
        source: RequestSource,
    ) -> Result<(), ChangeMembershipExpiryError> {
        let act = authority.act(&self.sources, source);
        self.limit
            .count::<ChangeMembershipExpiryError>(authority, act.at)
            .await?;
        let organization = authority.organization_id();
        let changed = self.members.change_expiry(organization, id, change, act).await;
        // Also after one that changed nothing, or found that the end came: the first one may still be
        // waiting.
        if let Ok(()) | Err(ChangeMembershipExpiryError::NotFound) = changed {
            self.to_all_servers.wait().await;
        }
        changed
    }

    /// Ends a membership and revokes the user's open invitations. When this returns, the consumer's keys no
    /// longer give access.
    ///
    /// # Errors
    /// See [`EndMembershipError`]; then nothing was changed.
    pub async fn remove(
        &self,
        authority: &Authority,
        id: MembershipId,
        source: RequestSource,
    ) -> Result<(), EndMembershipError> {
        let act = authority.act(&self.sources, source);
        self.end(authority.organization_id(), id, act).await
    }

    /// Ends the member's own membership and revokes their open invitations. Their keys of this organization
    /// no longer give access.
    ///
    /// # Errors
    /// See [`EndMembershipError`]; then they stay a member.
    pub async fn leave(&self, member: &Member, source: RequestSource) -> Result<(), EndMembershipError> {
        let act = self
            .sources
            .act(Actor::User(member.user.id), source)
            .within(member.organization.id);
        self.end(member.organization.id, member.membership.id, act).await
    }

    /// Waits until every server knows which memberships have ended, before a request to leave from a user who
    /// is not a member is answered: it may repeat one whose answer was lost.
    pub async fn gone_everywhere(&self) {
        self.to_all_servers.wait().await;
    }

    /// Also waits if the membership is not found: the request that ended it may still be waiting.
    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        let ended = self.members.end(organization, id, act).await;
        if let Ok(()) | Err(EndMembershipError::NotFound) = ended {
            self.to_all_servers.wait().await;
        }
        ended
    }
}
