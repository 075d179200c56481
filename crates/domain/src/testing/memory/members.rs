use std::cmp::Reverse;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State, newest_first, to_u32};
use crate::administration::ports::{
    ChangeMembershipExpiryError, ChangeRoleError, EndMembershipError, LeavingPreview, MemberFilter,
    MemberOverview, MemberProfile, MemberStore, WhichMember,
};
use crate::api_key::{ApiKey, Expiry, ExpiryChange};
use crate::audit::{Act, Actor};
use crate::id::{MembershipId, OrganizationId};
use crate::membership::{Membership, Role};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::validity::End;

#[async_trait]
impl MemberStore for MemoryStore {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        let state = self.state()?;
        let members = state
            .live_memberships(organization, now)
            .filter_map(|membership| state.member_overview(membership, now))
            .filter(|member| filter.accepts(&member.user))
            .collect();
        Ok(newest_first(members, page, |member| member.membership.id))
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberOverview>, StorageError> {
        let state = self.state()?;
        let membership = state.live_membership(organization, id, now);
        Ok(membership.and_then(|membership| state.member_overview(membership, now)))
    }

    async fn identify(
        &self,
        organization: OrganizationId,
        member: WhichMember,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberProfile>, StorageError> {
        let state = self.state()?;
        let holders = state
            .live_memberships(organization, now)
            .filter_map(|membership| state.profile(membership));
        let is_meant = |holder: &MemberProfile| match &member {
            WhichMember::Id(id) => holder.membership.id == *id,
            WhichMember::Username(username) => holder.user.username == *username,
        };
        Ok(holders.into_iter().find(is_meant))
    }

    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        let state = self.state()?;
        let membership = state.membership(id);
        let is_here = membership.is_some_and(|membership| membership.organization_id == organization);
        let keys = state.keys.iter().map(|stored| &stored.key);
        let mut valid: Vec<&ApiKey> = keys
            .filter(|key| is_here && key.consumer_id == id && key.is_valid(now))
            .collect();
        let last_use = |key: &ApiKey| key.last_use.map(|last| last.at);
        valid.sort_by_key(|key| Reverse((last_use(key), key.id)));
        let recent = valid.iter().filter(|key| last_use(key) > Some(used_after));
        Ok(LeavingPreview {
            keys: to_u32(valid.len()),
            recently_used: to_u32(recent.count()),
            first: valid
                .into_iter()
                .take(LeavingPreview::<ApiKey>::SHOWN)
                .cloned()
                .collect(),
        })
    }

    async fn has_other_permanent_owner(
        &self,
        organization: OrganizationId,
        member: MembershipId,
    ) -> Result<bool, StorageError> {
        Ok(self.state()?.has_other_permanent_owner(organization, member))
    }

    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(ChangeRoleError::NotAllowed);
        }
        let member = state
            .live_membership(organization, id, act.at)
            .ok_or(ChangeRoleError::NotFound)?;
        if member.role == role {
            return Ok(());
        }
        let (user, before) = (member.user_id, member.role);
        if before == Role::Owner && !state.has_other_permanent_owner(organization, id) {
            return Err(ChangeRoleError::LastOwner);
        }
        state.write_with_revoked_invitations(act.new_role(id, role), organization, user, &act)?;
        for membership in state
            .memberships
            .iter_mut()
            .filter(|membership| membership.id == id)
        {
            membership.role = role;
        }
        Ok(())
    }

    async fn change_expiry(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        change: ExpiryChange,
        act: Act,
    ) -> Result<(), ChangeMembershipExpiryError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(ChangeMembershipExpiryError::NotAllowed);
        }
        let member = state
            .live_membership(organization, id, act.at)
            .ok_or(ChangeMembershipExpiryError::NotFound)?;
        let (before, after) = (member.expires_at(act.at), change.expiry().map(Expiry::at));
        if before == after {
            return Ok(());
        }
        change.check(act.at)?;
        let loses_owner = member.role == Role::Owner && after.is_some();
        if loses_owner && !state.has_other_permanent_owner(organization, id) {
            return Err(ChangeMembershipExpiryError::LastOwner);
        }
        state.write(vec![act.change_of_membership_expiry(id, before, after)])?;
        for membership in state
            .memberships
            .iter_mut()
            .filter(|membership| membership.id == id)
        {
            membership.end = after.map(End::Planned);
        }
        Ok(())
    }

    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        let member = state.membership(id).filter(|member| {
            let is_due = member.end.is_some_and(|end| end.is_due(act.at));
            member.organization_id == organization && (member.is_live(act.at) || is_due)
        });
        let is_the_member = member.is_some_and(|member| act.actor == Actor::User(member.user_id));
        if !is_the_member && !state.may_administer(organization, act.actor, act.at) {
            return Err(EndMembershipError::NotAllowed);
        }
        let member = member.ok_or(EndMembershipError::NotFound)?.clone();
        if !member.is_live(act.at) {
            let due = state.due_end_of_membership(&member, &act);
            state.end_memberships(vec![due], Vec::new())?;
            return Ok(());
        }
        if member.role == Role::Owner && !state.has_other_permanent_owner(organization, id) {
            return Err(EndMembershipError::LastOwner);
        }
        let end = End::Come(state.moment_of_end(organization, act.at));
        let event = act.end_of_membership(id, member.user_id);
        let ending = state.end_of_membership(&member, end, event, &act);
        state.end_memberships(vec![ending], Vec::new())?;
        Ok(())
    }
}

impl State {
    pub(super) fn live_memberships(
        &self,
        organization: OrganizationId,
        now: DateTime<Utc>,
    ) -> impl Iterator<Item = &Membership> {
        self.memberships
            .iter()
            .filter(move |membership| membership.organization_id == organization && membership.is_live(now))
    }

    pub(super) fn live_membership(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Option<&Membership> {
        self.live_memberships(organization, now)
            .find(|membership| membership.id == id)
    }

    /// The time of the act or, if that is later, the creation of the organization's newest open invitation:
    /// so all of them precede the end, even if a clock ahead of this one timed them.
    fn moment_of_end(&self, organization: OrganizationId, act_at: DateTime<Utc>) -> DateTime<Utc> {
        self.invitations
            .iter()
            .map(|stored| &stored.invitation)
            .filter(|invitation| invitation.organization_id == organization && invitation.end.is_none())
            .map(|invitation| invitation.created_at)
            .fold(act_at, DateTime::max)
    }

    /// When the membership ended whose end is the latest of those that are over by then.
    pub(super) fn newest_end_of_membership(
        &self,
        organization: OrganizationId,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        self.memberships
            .iter()
            .filter(|membership| membership.organization_id == organization && !membership.is_live(now))
            .filter_map(|membership| membership.end.map(End::at))
            .max()
    }

    fn has_other_permanent_owner(&self, organization: OrganizationId, member: MembershipId) -> bool {
        self.memberships.iter().any(|other| {
            other.organization_id == organization && other.id != member && other.is_permanent_owner()
        })
    }

    fn member_overview(&self, membership: &Membership, now: DateTime<Utc>) -> Option<MemberOverview> {
        let keys = self.keys.iter().map(|stored| &stored.key);
        let valid_keys = keys.filter(|key| key.consumer_id == membership.id && key.is_valid(now));
        let projects = self.projects.iter().filter(|project| {
            project.is_active() && self.project_members.contains(&(project.id, membership.id))
        });
        Some(MemberOverview {
            user: self.user(membership.user_id)?.clone(),
            membership: membership.clone(),
            valid_keys: to_u32(valid_keys.count()),
            projects: to_u32(projects.count()),
        })
    }
}
