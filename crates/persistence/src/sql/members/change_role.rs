//! Changing a member's role.

use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::administration::ports::ChangeRoleError;
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::events::write_event;
use super::super::open_invitations::take_back_by;
use super::super::schema::memberships;
use super::live::{has_other_permanent_owner, lock_live_member};
use crate::abort::Abort;
use crate::columns::StoredId;

pub(super) async fn change_role(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    role: Role,
    act: Act,
) -> Result<(), Abort<ChangeRoleError>> {
    if !lock_authority(connection, organization, act.actor, act.at).await? {
        return Err(Abort::Refused(ChangeRoleError::NotAllowed));
    }
    let member = lock_live_member(connection, organization, id, act.at)
        .await?
        .ok_or(Abort::Refused(ChangeRoleError::NotFound))?;
    let before = member.role(id)?;
    if before == role {
        return Ok(());
    }
    if before == Role::Owner && !has_other_permanent_owner(connection, organization, id).await? {
        return Err(Abort::Refused(ChangeRoleError::LastOwner));
    }
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(id.as_uuid()))))
        .set(memberships::role.eq(role.as_str()))
        .execute(connection)
        .await?;
    write_event(connection, act.new_role(id, role)).await?;
    // Only an owner can have open invitations.
    take_back_by(connection, organization, member.user, &act).await?;
    Ok(())
}
