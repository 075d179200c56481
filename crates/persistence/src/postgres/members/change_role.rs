//! Changing a member's role.

use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::ChangeRoleError;
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;

use super::{has_one_owner, lock_live_member};
use crate::abort::Abort;
use crate::postgres::audit_log::write_event;
use crate::postgres::authority::lock_authority;
use crate::postgres::invitations::inviter::take_back_by;
use crate::postgres::schema::memberships;

pub(super) async fn change_role(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: MembershipId,
    role: Role,
    act: Act,
) -> Result<(), Abort<ChangeRoleError>> {
    if !lock_authority(connection, organization, act.actor).await? {
        return Err(Abort::Refused(ChangeRoleError::NotAllowed));
    }
    let member = lock_live_member(connection, organization, id)
        .await?
        .ok_or(Abort::Refused(ChangeRoleError::NotFound))?;
    let before = member.role(id)?;
    if before == role {
        return Ok(());
    }
    if before == Role::Owner && has_one_owner(connection, organization).await? {
        return Err(Abort::Refused(ChangeRoleError::LastOwner));
    }
    diesel::update(memberships::table.filter(memberships::id.eq(id.as_uuid())))
        .set(memberships::role.eq(role.as_str()))
        .execute(connection)
        .await?;
    write_event(connection, act.new_role(id, role)).await?;
    // Who was no owner has invited nobody.
    take_back_by(connection, organization, member.user, &act).await?;
    Ok(())
}
