//! Members of an organization and their roles.
//!
//! An organization always keeps an owner, because every change locks the organization first, so changes are
//! serialized.

mod change_expiry;
mod change_role;
mod end;
pub(super) mod live;
mod read;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{
    ChangeMembershipExpiryError, ChangeRoleError, EndMembershipError, LeavingPreview, MemberFilter,
    MemberOverview, MemberProfile, MemberStore, WhichMember,
};
use keyward_domain::api_key::{ApiKey, ExpiryChange};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::api_keys::row::KeyRow;
use super::dialect::{RunQueryDsl, Store, listed, valid_keys_of_member};
use super::people::{MembershipRow, UserRow, profile};
use super::schema::{api_keys, memberships, users};
use super::validity::membership_is_live;
use crate::claim::Claim;
use crate::columns::StoredId;
use crate::limit::at_most;
use crate::stored_row::count_or_zero;

#[async_trait]
impl MemberStore for Store {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        read!(self, read::list(organization, filter, page, now))
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberOverview>, StorageError> {
        read!(self, read::find(organization, id, now))
    }

    async fn identify(
        &self,
        organization: OrganizationId,
        member: WhichMember,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberProfile>, StorageError> {
        read!(self, |connection| {
            let mut query = memberships::table
                .inner_join(users::table)
                .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
                .filter(membership_is_live(now.into()))
                .select((UserRow::as_select(), MembershipRow::as_select()))
                .into_boxed();
            query = match member {
                WhichMember::Id(id) => query.filter(memberships::id.eq(StoredId(id.as_uuid()))),
                WhichMember::Username(username) => query.filter(users::username.eq(username.to_string())),
            };
            let row: Option<(UserRow, MembershipRow)> = query.get_result(connection).await.optional()?;
            Ok(row.map(profile).transpose()?)
        })
    }

    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        read!(self, |connection| {
            let shown = at_most(LeavingPreview::<ApiKey>::SHOWN);
            let valid = valid_keys_of_member(connection, organization, id, used_after, now, shown).await?;
            let rows: Vec<KeyRow> = api_keys::table
                .filter(listed(valid.first.iter().copied()))
                .select(KeyRow::as_select())
                .load(connection)
                .await?;
            let first: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
            let mut first = first?;
            first.sort_by_key(|key| valid.first.iter().position(|id| *id == key.id.as_uuid()));
            Ok(LeavingPreview {
                keys: count_or_zero(Some(valid.keys)),
                recently_used: count_or_zero(Some(valid.recently_used)),
                first,
            })
        })
    }

    async fn has_other_permanent_owner(
        &self,
        organization: OrganizationId,
        member: MembershipId,
    ) -> Result<bool, StorageError> {
        read!(self, |connection| {
            Ok(live::has_other_permanent_owner(connection, organization, member).await?)
        })
    }

    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError> {
        change!(self, change_role::change_role(organization, id, role, act))
    }

    async fn change_expiry(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        change: ExpiryChange,
        act: Act,
    ) -> Result<(), ChangeMembershipExpiryError> {
        change!(self, change_expiry::change_expiry(organization, id, change, act))
    }

    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        change!(self, Claim::Revoking, end::end(organization, id, act))
    }
}
