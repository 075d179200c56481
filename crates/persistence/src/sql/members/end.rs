//! Ending a membership.

use std::slice;

use chrono::{DateTime, Utc};
use diesel::dsl::max;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult};
use keyward_domain::administration::ports::EndMembershipError;
use keyward_domain::audit::{Act, Actor};
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl, write_events};
use super::super::end_of_membership::{end_dependents, record_ends_of_memberships};
use super::super::schema::{invitations, memberships};
use super::live::{has_other_permanent_owner, lock_due_member, lock_live_member};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn end(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    act: Act,
) -> Result<(), Abort<EndMembershipError>> {
    let as_owner = lock_authority(connection, organization, act.clone()).await?;
    let may_administer = as_owner.is_some();
    let act = as_owner.unwrap_or_else(|| act.at_current_time());
    // From here on, no key of theirs can be added: adding one also locks the membership, and then finds it
    // ended.
    let live = lock_live_member(connection, organization, id, act.at).await?;
    let due = match live {
        Some(_) => None,
        None => lock_due_member(connection, organization, id, act.at).await?,
    };
    let member = live.as_ref().or(due.as_ref());
    let is_the_member = member.is_some_and(|member| act.actor == Actor::User(member.user()));
    if !may_administer && !is_the_member {
        return Err(Abort::Refused(EndMembershipError::NotAllowed));
    }
    if let Some(due) = due {
        record_ends_of_memberships(connection, &[due], &act).await?;
        return Ok(());
    }
    let member = live.ok_or(Abort::Refused(EndMembershipError::NotFound))?;
    if member.role()? == Role::Owner && !has_other_permanent_owner(connection, organization, id).await? {
        return Err(Abort::Refused(EndMembershipError::LastOwner));
    }
    let ended_at = moment_of_end(connection, organization, act.at).await?;
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(id.as_uuid()))))
        .set((
            memberships::ended_at.eq(StoredMoment::from(ended_at)),
            memberships::end_came_at.eq(StoredMoment::from(act.at)),
        ))
        .execute(connection)
        .await?;
    let mut revoked = end_dependents(connection, slice::from_ref(&member), act.at).await?;
    let mut events = vec![act.end_of_membership(id, member.user())];
    events.extend(revoked.events_of(&member, &act));
    write_events(connection, events).await?;
    Ok(())
}

/// The time of the act or, if later, the creation time of the newest invitation that can still be accepted.
/// No invitation is added under the organization's lock, so every invitation that exists when the end is
/// committed precedes it, even if another clock created it.
async fn moment_of_end(
    connection: &mut Connection,
    organization: OrganizationId,
    act_at: DateTime<Utc>,
) -> QueryResult<DateTime<Utc>> {
    let newest: Option<StoredMoment> = invitations::table
        .filter(invitations::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(invitations::accepted_at.is_null())
        .filter(invitations::revoked_at.is_null())
        .select(max(invitations::created_at))
        .get_result(connection)
        .await?;
    let newest = newest.and_then(|newest| newest.0.ok());
    Ok(newest.map_or(act_at, |newest| newest.max(act_at)))
}
