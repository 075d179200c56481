//! Changing when a membership ends.

use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::administration::ports::ChangeMembershipExpiryError;
use keyward_domain::api_key::{Expiry, ExpiryChange};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;
use keyward_domain::validity::End;

use super::super::authority::{lock_organization, may_administer};
use super::super::dialect::{Connection, RunQueryDsl, write_events};
use super::super::schema::memberships;
use super::live::{has_other_permanent_owner, lock_live_member};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn change_expiry(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    change: ExpiryChange,
    act: Act,
) -> Result<(), Abort<ChangeMembershipExpiryError>> {
    lock_organization(connection, organization).await?;
    let member = lock_live_member(connection, organization, id, act.at).await?;
    // The locks may have taken long: an end that has come meanwhile is final.
    let act = act.at_current_time();
    if !may_administer(connection, organization, act.actor, act.at).await? {
        return Err(Abort::Refused(ChangeMembershipExpiryError::NotAllowed));
    }
    let member = member.ok_or(Abort::Refused(ChangeMembershipExpiryError::NotFound))?;
    let (before, after) = (member.expires_at()?, change.expiry().map(Expiry::at));
    if before.is_some_and(|end| End::Planned(end).has_come(act.at)) {
        return Err(Abort::Refused(ChangeMembershipExpiryError::NotFound));
    }
    if before == after {
        return Ok(());
    }
    let is_ahead = change.check(act.at);
    is_ahead.map_err(|error| Abort::Refused(error.into()))?;
    let loses_owner = after.is_some() && member.role()? == Role::Owner;
    if loses_owner && !has_other_permanent_owner(connection, organization, id).await? {
        return Err(Abort::Refused(ChangeMembershipExpiryError::LastOwner));
    }
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(id.as_uuid()))))
        .set(memberships::ended_at.eq(after.map(StoredMoment::from)))
        .execute(connection)
        .await?;
    write_events(
        connection,
        vec![act.change_of_membership_expiry(id, before, after)],
    )
    .await?;
    Ok(())
}
