//! Ending a membership.

use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
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
use crate::sqlite::schema::{memberships, project_members};

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
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(id.as_uuid()))))
        .set(memberships::ended_at.eq(act.at.timestamp_millis()))
        .execute(connection)?;
    diesel::delete(project_members::table.filter(project_members::membership_id.eq(StoredId(id.as_uuid()))))
        .execute(connection)?;
    write_event(connection, act.end_of_membership(id, member.user))?;
    take_back_by(connection, organization, member.user, &act)?;
    Ok(())
}
