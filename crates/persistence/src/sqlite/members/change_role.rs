//! Changing a member's role.

use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::administration::ports::ChangeRoleError;
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;

use super::{has_one_owner, live_member};
use crate::abort::Abort;
use crate::sqlite::audit_log::write_event;
use crate::sqlite::authority::may_administer;
use crate::sqlite::columns::StoredId;
use crate::sqlite::invitations::inviter::take_back_by;
use crate::sqlite::schema::memberships;

pub(super) fn change_role(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: MembershipId,
    role: Role,
    act: Act,
) -> Result<(), Abort<ChangeRoleError>> {
    if !may_administer(connection, organization, act.actor)? {
        return Err(Abort::Refused(ChangeRoleError::NotAllowed));
    }
    let member =
        live_member(connection, organization, id)?.ok_or(Abort::Refused(ChangeRoleError::NotFound))?;
    let before = member.role(id)?;
    if before == role {
        return Ok(());
    }
    if before == Role::Owner && has_one_owner(connection, organization)? {
        return Err(Abort::Refused(ChangeRoleError::LastOwner));
    }
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(id.as_uuid()))))
        .set(memberships::role.eq(role.as_str()))
        .execute(connection)?;
    write_event(connection, act.new_role(id, role))?;
    // Who was no owner has invited nobody.
    take_back_by(connection, organization, member.user, &act)?;
    Ok(())
}
