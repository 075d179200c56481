//! Who belongs where.

use std::convert::Infallible;

use async_trait::async_trait;
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::id::UserId;
use keyward_domain::membership::Member;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::ports::{Memberships, StorageError};

use super::columns::StoredId;
use super::people::{MembershipRow, OrganizationRow, UserRow};
use super::schema::{memberships, organizations, users};
use super::store::SqliteStore;
use crate::abort::Abort;

#[async_trait]
impl Memberships for SqliteStore {
    async fn find_live(&self, user: UserId, organization: &Slug) -> Result<Option<Member>, StorageError> {
        let slug = organization.clone();
        self.read(move |connection| find_live(connection, user, slug))
            .await
    }

    async fn organizations_of(&self, user: UserId) -> Result<Vec<Organization>, StorageError> {
        self.read(move |connection| organizations_of(connection, user))
            .await
    }
}

/// One statement for both questions, so an organization that the user does not belong to takes as long as none.
fn find_live(
    connection: &mut SqliteConnection,
    user: UserId,
    slug: Slug,
) -> Result<Option<Member>, Abort<Infallible>> {
    let rows: Option<(UserRow, OrganizationRow, MembershipRow)> = memberships::table
        .inner_join(users::table)
        .inner_join(organizations::table)
        .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
        .filter(memberships::ended_at.is_null())
        .filter(organizations::slug.eq(slug.as_str()))
        .select((
            UserRow::as_select(),
            OrganizationRow::as_select(),
            MembershipRow::as_select(),
        ))
        .first(connection)
        .optional()?;
    let Some((user, organization, membership)) = rows else {
        return Ok(None);
    };
    Ok(Some(Member {
        user: user.try_into()?,
        organization: organization.try_into()?,
        membership: membership.try_into()?,
    }))
}

fn organizations_of(
    connection: &mut SqliteConnection,
    user: UserId,
) -> Result<Vec<Organization>, Abort<Infallible>> {
    let rows: Vec<OrganizationRow> = memberships::table
        .inner_join(organizations::table)
        .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
        .filter(memberships::ended_at.is_null())
        .order((organizations::name, organizations::id))
        .select(OrganizationRow::as_select())
        .load(connection)?;
    let organizations: Result<_, StorageError> = rows.into_iter().map(Organization::try_from).collect();
    Ok(organizations?)
}
