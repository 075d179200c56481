//! Finds and locks live members for changes.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::Role;

use super::super::dialect::{Connection, RunQueryDsl, locked};
use super::super::schema::memberships;
use super::super::validity::membership_is_live;
use crate::columns::StoredId;
use crate::live_member::LiveMember;

/// Locks a live member, so that the membership and its keys do not change until this transaction ends. MUST be called
/// after the organization's lock.
pub(in super::super) async fn lock_live_member(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    at: DateTime<Utc>,
) -> Result<Option<LiveMember>, QueryError> {
    let row: Option<(StoredId, String)> = locked!(
        memberships::table
            .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
            .filter(memberships::id.eq(StoredId(id.as_uuid())))
            .filter(membership_is_live(at.into()))
            .select((memberships::user_id, memberships::role))
    )
    .get_result(connection)
    .await
    .optional()?;
    Ok(row.map(|(user, role)| LiveMember {
        user: UserId::from_uuid(user.0),
        role,
    }))
}

/// Whether the organization has only one live owner. Stays true under the organization's lock.
pub(super) async fn has_one_owner(
    connection: &mut Connection,
    organization: OrganizationId,
    at: DateTime<Utc>,
) -> Result<bool, QueryError> {
    let owners: i64 = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(membership_is_live(at.into()))
        .filter(memberships::role.eq(Role::Owner.as_str()))
        .count()
        .get_result(connection)
        .await?;
    Ok(owners <= 1)
}
