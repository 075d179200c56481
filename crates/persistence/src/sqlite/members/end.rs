//! Ending a membership.

use chrono::{DateTime, Utc};
use diesel::dsl::max;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, SqliteConnection};
use keyward_domain::administration::ports::EndMembershipError;
use keyward_domain::audit::{Act, Actor};
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;

use super::{has_one_owner, live_member};
use crate::abort::Abort;
use crate::sqlite::audit_log::write_event;
use crate::sqlite::authority::may_administer;
use crate::sqlite::columns::StoredId;
use crate::sqlite::invitations::inviter::take_back_by;
use crate::sqlite::schema::{invitations, memberships, project_members};

pub(super) fn end(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: MembershipId,
    act: Act,
) -> Result<(), Abort<EndMembershipError>> {
    let is_authority = may_administer(connection, organization, act.actor)?;
    let member = live_member(connection, organization, id)?;
    let is_the_member = member
        .as_ref()
        .is_some_and(|member| act.actor == Actor::User(member.user));
    if !is_authority && !is_the_member {
        return Err(Abort::Refused(EndMembershipError::NotAllowed));
    }
    let member = member.ok_or(Abort::Refused(EndMembershipError::NotFound))?;
    if member.role(id)? == Role::Owner && has_one_owner(connection, organization)? {
        return Err(Abort::Refused(EndMembershipError::LastOwner));
    }
    let ended_at = moment_of_end(connection, organization, act.at)?;
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(id.as_uuid()))))
        .set(memberships::ended_at.eq(ended_at))
        .execute(connection)?;
    diesel::delete(project_members::table.filter(project_members::membership_id.eq(StoredId(id.as_uuid()))))
        .execute(connection)?;
    write_event(connection, act.end_of_membership(id, member.user))?;
    take_back_by(connection, organization, member.user, &act)?;
    Ok(())
}

/// The moment of the act or, if that is later, the one at which the newest of the organization's invitations was made
/// that may still be accepted. No invitation is added during this transaction, so whichever there is when the end is
/// committed precedes it, whatever clock it was made by.
fn moment_of_end(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    act_at: DateTime<Utc>,
) -> QueryResult<i64> {
    let newest: Option<i64> = invitations::table
        .filter(invitations::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(invitations::accepted_at.is_null())
        .filter(invitations::revoked_at.is_null())
        .select(max(invitations::created_at))
        .get_result(connection)?;
    let act_at = act_at.timestamp_millis();
    Ok(newest.map_or(act_at, |newest| newest.max(act_at)))
}
