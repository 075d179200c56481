//! Finds and locks live members for changes.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::Role;

use super::super::dialect::{Connection, RunQueryDsl, locked};
use super::super::schema::memberships;
use super::super::validity::{membership_is_due, membership_is_live};
use crate::columns::{StoredId, StoredMoment};
use crate::live_member::LiveMember;
use crate::locked_member::{DueMember, LockedMember};

/// Locks a live member, so that the membership and its keys do not change until this transaction ends. MUST
/// be called after the organization's lock.
pub(in super::super) async fn lock_live_member(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    at: DateTime<Utc>,
) -> Result<Option<LiveMember>, QueryError> {
    let row: Option<(StoredId, String, Option<StoredMoment>)> = locked!(
        memberships::table
            .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
            .filter(memberships::id.eq(StoredId(id.as_uuid())))
            .filter(membership_is_live(at.into()))
            .select((memberships::user_id, memberships::role, memberships::ended_at))
    )
    .get_result(connection)
    .await
    .optional()?;
    Ok(row.map(|(user, role, planned_end)| LiveMember {
        user: UserId::from_uuid(user.0),
        role,
        planned_end,
    }))
}

/// A member of the organization whose planned end has come and is not recorded, locked in the same way.
pub(super) async fn lock_due_member(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    at: DateTime<Utc>,
) -> Result<Option<DueMember>, QueryError> {
    let found: Option<(StoredId, Option<StoredMoment>)> = locked!(
        memberships::table
            .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
            .filter(memberships::id.eq(StoredId(id.as_uuid())))
            .filter(membership_is_due(at.into()))
            .select((memberships::user_id, memberships::ended_at))
    )
    .get_result(connection)
    .await
    .optional()?;
    Ok(found.map(|(user, planned)| DueMember {
        member: LockedMember {
            id,
            organization,
            user: UserId::from_uuid(user.0),
        },
        planned: planned.and_then(StoredMoment::as_planned_end),
    }))
}

/// Whether the organization has an owner without a planned end besides this member. It stays true under the
/// organization's lock.
pub(super) async fn has_other_permanent_owner(
    connection: &mut Connection,
    organization: OrganizationId,
    member: MembershipId,
) -> Result<bool, QueryError> {
    diesel::select(exists(
        memberships::table
            .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
            .filter(memberships::end_came_at.is_null())
            .filter(memberships::ended_at.is_null())
            .filter(memberships::role.eq(Role::Owner.as_str()))
            .filter(memberships::id.ne(StoredId(member.as_uuid()))),
    ))
    .get_result(connection)
    .await
}
