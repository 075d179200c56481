//! Who belongs to an organization, and as what.

mod change_role;
mod end;
mod leaving;
mod read;

use std::convert::Infallible;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use keyward_domain::administration::ports::{
    ChangeRoleError, EndMembershipError, KeyHolder, LeavingPreview, MemberFilter, MemberOverview,
    MemberStore, WhichMember,
};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::Role;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::columns::StoredId;
use super::reserve::Claim;
use super::schema::memberships;
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::live_member::LiveMember;

#[async_trait]
impl MemberStore for SqliteStore {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        self.read(move |connection| read::list(connection, organization, filter, page))
            .await
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
    ) -> Result<Option<MemberOverview>, StorageError> {
        self.read(move |connection| read::find(connection, organization, id))
            .await
    }

    async fn identify(
        &self,
        organization: OrganizationId,
        member: WhichMember,
    ) -> Result<Option<KeyHolder>, StorageError> {
        self.read(move |connection| read::identify(connection, organization, member))
            .await
    }

    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        self.read(move |connection| leaving::preview(connection, organization, id, used_after))
            .await
    }

    async fn has_one_owner(&self, organization: OrganizationId) -> Result<bool, StorageError> {
        self.read(move |connection| Ok::<_, Abort<Infallible>>(has_one_owner(connection, organization)?))
            .await
    }

    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError> {
        self.change(move |connection| change_role::change_role(connection, organization, id, role, act))
            .await
    }

    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        self.change_with(Claim::Revoking, move |connection| {
            end::end(connection, organization, id, act)
        })
        .await
    }
}

/// A live member of the organization.
pub(super) fn live_member(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: MembershipId,
) -> Result<Option<LiveMember>, QueryError> {
    let row: Option<(StoredId, String)> = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(memberships::id.eq(StoredId(id.as_uuid())))
        .filter(memberships::ended_at.is_null())
        .select((memberships::user_id, memberships::role))
        .get_result(connection)
        .optional()?;
    Ok(row.map(|(user, role)| LiveMember {
        user: UserId::from_uuid(user.0),
        role,
    }))
}

/// Whether the organization has only one live owner.
fn has_one_owner(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<bool, QueryError> {
    let owners: i64 = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(memberships::ended_at.is_null())
        .filter(memberships::role.eq(Role::Owner.as_str()))
        .count()
        .get_result(connection)?;
    Ok(owners <= 1)
}
