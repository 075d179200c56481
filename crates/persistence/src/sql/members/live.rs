//! Finds and locks live members for changes.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::result::Error as QueryError;
use keyward_domain::id::{MembershipId, OrganizationId};

use super::super::dialect::{Connection, RunQueryDsl, locked};
use super::super::locked_member::LockedMember;
use super::super::schema::memberships;
use super::super::validity::{is_permanent_owner, membership_is_due, membership_is_live};
use crate::columns::StoredId;

/// Locks a member of the organization whose membership is in a given state.
macro_rules! lock_member {
    ($connection:ident, $organization:ident, $id:ident, $state:expr) => {
        locked!(
            memberships::table
                .filter(memberships::organization_id.eq(StoredId($organization.as_uuid())))
                .filter(memberships::id.eq(StoredId($id.as_uuid())))
                .filter($state)
                .select(LockedMember::as_select())
        )
        .get_result($connection)
        .await
        .optional()
    };
}

/// Locks a live member, so that the membership and its keys do not change until this transaction ends. MUST
/// be called after the organization's lock.
pub(in super::super) async fn lock_live_member(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    at: DateTime<Utc>,
) -> Result<Option<LockedMember>, QueryError> {
    lock_member!(connection, organization, id, membership_is_live(at.into()))
}

/// A member of the organization whose planned end has come and is not recorded, locked in the same way.
pub(super) async fn lock_due_member(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    at: DateTime<Utc>,
) -> Result<Option<LockedMember>, QueryError> {
    lock_member!(connection, organization, id, membership_is_due(at.into()))
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
            .filter(is_permanent_owner())
            .filter(memberships::id.ne(StoredId(member.as_uuid()))),
    ))
    .get_result(connection)
    .await
}
