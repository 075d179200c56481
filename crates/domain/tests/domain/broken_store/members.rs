use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    ChangeMembershipExpiryError, ChangeRoleError, EndMembershipError, LeavingPreview, MemberFilter,
    MemberOverview, MemberProfile, MemberStore, WhichMember,
};
use keyward_domain::api_key::{ApiKey, ExpiryChange};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::StorageError;

use super::{BrokenStore, Fault, List, lock};

#[async_trait]
impl MemberStore for BrokenStore {
    async fn list(
        &self,
        organization: OrganizationId,
        mut filter: MemberFilter,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        let now = self.asked_about(List::Members, now);
        if self.fault == Fault::FindsNamesBySubstring && filter.name().is_some() {
            filter = MemberFilter::new(filter.name());
        }
        let is_filtered = filter != MemberFilter::default();
        let ask = |page| MemberStore::list(&self.sound, organization, filter, page, now);
        let Page { items, next } = self.page(List::Members, is_filtered, page, ask).await?;
        let items = items
            .into_iter()
            .map(|member| self.overview_as_read(member))
            .collect();
        Ok(Page { items, next })
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberOverview>, StorageError> {
        let now = self.asked_about(List::Members, now);
        let found = MemberStore::find(&self.sound, organization, id, now).await?;
        Ok(found.map(|member| self.overview_as_read(member)))
    }

    async fn identify(
        &self,
        organization: OrganizationId,
        member: WhichMember,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberProfile>, StorageError> {
        let now = self.asked_about(List::Members, now);
        let found = self.sound.identify(organization, member.clone(), now).await?;
        if let (Fault::FindsUsernamesByPrefix, None, WhichMember::Username(name)) =
            (self.fault, &found, &member)
        {
            let all = PageRequest::first(PageSize::EXPORT);
            let listed =
                MemberStore::list(&self.sound, organization, MemberFilter::default(), all, now).await?;
            let longer = listed
                .items
                .into_iter()
                .find(|member| member.user.username.as_str().starts_with(name.as_str()));
            return Ok(longer.map(|member| MemberProfile {
                user: member.user,
                membership: member.membership,
            }));
        }
        Ok(found.map(|holder| self.profile_as_read(holder)))
    }

    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        let now = self.asked_about(List::Members, now);
        let mut preview = self
            .sound
            .leaving_preview(organization, id, used_after, now)
            .await?;
        preview.first = preview.first.into_iter().map(|key| self.as_read(key)).collect();
        Ok(preview)
    }

    async fn has_other_permanent_owner(
        &self,
        organization: OrganizationId,
        member: MembershipId,
    ) -> Result<bool, StorageError> {
        if self.fault == Fault::CountsOwnersWithPlannedEnds {
            return self.has_other_owner(organization, member).await;
        }
        self.sound.has_other_permanent_owner(organization, member).await
    }

    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError> {
        match self.sound.change_role(organization, id, role, act).await {
            Err(ChangeRoleError::LastOwner)
                if self.fault == Fault::CountsOwnersWithPlannedEnds
                    && self.has_other_owner(organization, id).await? =>
            {
                Ok(())
            }
            answer => answer,
        }
    }

    async fn change_expiry(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        change: ExpiryChange,
        act: Act,
    ) -> Result<(), ChangeMembershipExpiryError> {
        let act = self.as_timed(act);
        match self.sound.change_expiry(organization, id, change, act).await {
            Err(ChangeMembershipExpiryError::LastOwner)
                if self.fault == Fault::CountsOwnersWithPlannedEnds
                    && self.has_other_owner(organization, id).await? =>
            {
                Ok(())
            }
            answer => answer,
        }
    }

    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        if self.fault == Fault::LeavesDueEndsOfRemovedMembers && self.sound.has_due(act.at).await? {
            return Ok(());
        }
        if let Some(member) = MemberStore::find(&self.sound, organization, id, act.at).await? {
            lock(&self.removed_until).insert((organization, member.user.id), act.at);
        }
        match MemberStore::end(&self.sound, organization, id, act).await {
            Err(EndMembershipError::LastOwner)
                if self.fault == Fault::CountsOwnersWithPlannedEnds
                    && self.has_other_owner(organization, id).await? =>
            {
                Ok(())
            }
            answer => answer,
        }
    }
}

impl BrokenStore {
    /// Whether there is another owner, with or without a planned end.
    async fn has_other_owner(
        &self,
        organization: OrganizationId,
        member: MembershipId,
    ) -> Result<bool, StorageError> {
        let all = PageRequest::first(PageSize::EXPORT);
        let before_all_ends = DateTime::<Utc>::UNIX_EPOCH;
        let filter = MemberFilter::default();
        let members = MemberStore::list(&self.sound, organization, filter, all, before_all_ends).await?;
        let mut others = members.items.iter().map(|other| &other.membership);
        Ok(others.any(|other| other.id != member && other.role == Role::Owner))
    }

    fn overview_as_read(&self, member: MemberOverview) -> MemberOverview {
        MemberOverview {
            user: self.user_as_read(member.user),
            membership: self.membership_as_read(member.membership),
            ..member
        }
    }

    pub(super) fn profile_as_read(&self, member: MemberProfile) -> MemberProfile {
        MemberProfile {
            user: self.user_as_read(member.user),
            membership: self.membership_as_read(member.membership),
        }
    }
}
