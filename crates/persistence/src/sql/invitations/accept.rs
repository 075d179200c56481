//! Joining with an invitation.

use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::{OptionalExtension, QueryResult};
use keyward_domain::audit::{Act, AuditEvent};
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Membership;
use keyward_domain::sign_in::ports::AcceptAsUserError;

use super::super::authority::{lock_organization, may_administer};
use super::super::dialect::{Connection, RunQueryDsl, write_events};
use super::super::end_of_membership::record_ends_of_memberships;
use super::super::locked_member::LockedMember;
use super::super::people::add_membership;
use super::super::schema::invitations;
use super::past_memberships::memberships_of;
use super::row::InvitationRow;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn as_user(
    connection: &mut Connection,
    id: InvitationId,
    membership: Membership,
    events: Vec<AuditEvent>,
    act: Act,
) -> Result<(), Abort<AcceptAsUserError>> {
    let invitation = open_for(connection, id, &membership).await?;
    let invitation = invitation.ok_or(Abort::Refused(AcceptAsUserError::NotOpen))?;
    let past_memberships = memberships_of(connection, membership.organization_id, membership.user_id).await?;
    let at = membership.joined_at;
    if past_memberships
        .iter()
        .any(|membership| invitation.was_created_before_end(membership, at))
    {
        return Err(Abort::Refused(AcceptAsUserError::NotOpen));
    }
    if past_memberships.iter().any(|membership| membership.is_live(at)) {
        return Err(Abort::Refused(AcceptAsUserError::AlreadyMember));
    }
    let due = past_memberships
        .iter()
        .filter(|membership| membership.end.is_some_and(|end| end.is_due(at)));
    let due: Vec<LockedMember> = due.map(LockedMember::from).collect();
    if !due.is_empty() {
        record_ends_of_memberships(connection, &due, &act).await?;
    }
    begin(connection, id, membership, events).await?;
    Ok(())
}

/// The invitation, if the membership may begin with it.
pub(super) async fn open_for<E>(
    connection: &mut Connection,
    id: InvitationId,
    membership: &Membership,
) -> Result<Option<Invitation>, Abort<E>> {
    // Until this transaction ends, no other one accepts or revokes this invitation, or changes a membership
    // or role of the organization.
    lock_organization(connection, membership.organization_id).await?;
    let row: Option<InvitationRow> = invitations::table
        .filter(invitations::id.eq(StoredId(id.as_uuid())))
        .filter(invitations::organization_id.eq(StoredId(membership.organization_id.as_uuid())))
        .select(InvitationRow::as_select())
        .get_result(connection)
        .await
        .optional()?;
    let Some(row) = row else {
        return Ok(None);
    };
    let invitation = Invitation::try_from(row)?;
    let is_open = invitation.is_for(membership)
        && may_administer(
            connection,
            membership.organization_id,
            invitation.invited_by,
            membership.joined_at,
        )
        .await?;
    Ok(is_open.then_some(invitation))
}

/// Ends the invitation and begins the membership.
pub(super) async fn begin(
    connection: &mut Connection,
    id: InvitationId,
    membership: Membership,
    events: Vec<AuditEvent>,
) -> QueryResult<()> {
    let (membership_id, joined_at) = (membership.id, membership.joined_at);
    add_membership(connection, membership).await?;
    diesel::update(invitations::table.filter(invitations::id.eq(StoredId(id.as_uuid()))))
        .set((
            invitations::accepted_at.eq(StoredMoment::from(joined_at)),
            invitations::accepted_membership_id.eq(StoredId(membership_id.as_uuid())),
        ))
        .execute(connection)
        .await?;
    write_events(connection, events).await
}
