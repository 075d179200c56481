//! Changing a member's role.

use std::slice;

use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::administration::ports::ChangeRoleError;
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl, write_events};
use super::super::open_invitations::revoke_invitations_of;
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
    let act = lock_authority(connection, organization, act).await?;
    let act = act.ok_or(Abort::Refused(ChangeRoleError::NotAllowed))?;
    let member = lock_live_member(connection, organization, id, act.at)
        .await?
        .ok_or(Abort::Refused(ChangeRoleError::NotFound))?;
    let before = member.role()?;
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
    // Only an owner can have open invitations.
    let mut revoked = revoke_invitations_of(connection, slice::from_ref(&member), act.at).await?;
    let mut events = vec![act.new_role(id, role)];
    events.extend(revoked.events_of(&member, &act));
    write_events(connection, events).await?;
    Ok(())
}
