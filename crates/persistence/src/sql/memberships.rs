//! Live memberships of users.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::id::UserId;
use keyward_domain::membership::Member;
use keyward_domain::organization::Slug;
use keyward_domain::ports::{Memberships, StorageError};

use super::dialect::{RunQueryDsl, Store};
use super::people::{MembershipRow, OrganizationRow, UserRow};
use super::schema::{memberships, organizations, users};
use super::validity::membership_is_live;
use crate::columns::StoredId;

type MemberRow = (UserRow, OrganizationRow, MembershipRow);

#[async_trait]
impl Memberships for Store {
    async fn find_live(
        &self,
        user: UserId,
        organization: &Slug,
        now: DateTime<Utc>,
    ) -> Result<Option<Member>, StorageError> {
        let slug = organization.clone();
        read!(self, |connection| {
            // One statement, so that an organization that the user does not belong to takes as long as one that
            // does not exist.
            let row: Option<MemberRow> = memberships::table
                .inner_join(users::table)
                .inner_join(organizations::table)
                .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
                .filter(membership_is_live(now.into()))
                .filter(organizations::slug.eq(slug.as_str()))
                .select(<MemberRow as SelectableHelper<_>>::as_select())
                .get_result(connection)
                .await
                .optional()?;
            Ok(row.map(member).transpose()?)
        })
    }

    async fn list_live(&self, user: UserId, now: DateTime<Utc>) -> Result<Vec<Member>, StorageError> {
        read!(self, |connection| {
            let rows: Vec<MemberRow> = memberships::table
                .inner_join(users::table)
                .inner_join(organizations::table)
                .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
                .filter(membership_is_live(now.into()))
                .order((organizations::name, organizations::id))
                .select(<MemberRow as SelectableHelper<_>>::as_select())
                .load(connection)
                .await?;
            let members: Result<_, StorageError> = rows.into_iter().map(member).collect();
            Ok(members?)
        })
    }
}

fn member((user, organization, membership): MemberRow) -> Result<Member, StorageError> {
    Ok(Member {
        user: user.try_into()?,
        organization: organization.try_into()?,
        membership: membership.try_into()?,
    })
}
