//! Creating and revoking invitations.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::dsl::max;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, SelectableHelper};
use keyward_domain::administration::ports::{AddInvitationError, NewInvitation, RevokeInvitationError};
use keyward_domain::audit::Act;
use keyward_domain::id::{InvitationId, OrganizationId};
use keyward_domain::invitation::{Invitation, InvitationEnd};

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::events::write_event;
use super::super::open_invitations::is_limit_reached;
use super::super::schema::{invitations, memberships};
use super::super::validity::membership_is_over;
use super::row::{InvitationRow, NewInvitationRow};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn add(
    connection: &mut Connection,
    mut new: NewInvitation,
    act: Act,
) -> Result<(), Abort<AddInvitationError>> {
    let organization = new.invitation.organization_id;
    let act = lock_authority(connection, organization, act).await?;
    let act = act.ok_or(Abort::Refused(AddInvitationError::NotAllowed))?;
    // Until this transaction ends, no other adds invitations to the organization or ends memberships of it.
    let scope = organization.as_uuid();
    let first = created_with!(
        connection,
        invitations.organization_id,
        scope,
        new.idempotency_key
    );
    if let Some(first) = first {
        let first = InvitationId::from_uuid(first);
        return Err(Abort::Refused(AddInvitationError::AlreadyCreated(first)));
    }
    if is_limit_reached(connection, organization, act.at).await? {
        return Err(Abort::Refused(AddInvitationError::LimitReached));
    }
    let newest_end = newest_end(connection, organization, act.at).await?;
    new.invitation = new.invitation.created_after(newest_end);
    diesel::insert_into(invitations::table)
        .values(NewInvitationRow::new(&new))
        .execute(connection)
        .await?;
    write_event(connection, act.creation_of_invitation(new.invitation.id)).await?;
    Ok(())
}

/// The latest end of those memberships of the organization that are over at `now`.
async fn newest_end(
    connection: &mut Connection,
    organization: OrganizationId,
    now: DateTime<Utc>,
) -> QueryResult<Option<DateTime<Utc>>> {
    let newest: Option<StoredMoment> = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(membership_is_over(now.into()))
        .select(max(memberships::ended_at))
        .get_result(connection)
        .await?;
    Ok(newest.and_then(|newest| newest.0.ok()))
}

pub(super) async fn revoke(
    connection: &mut Connection,
    organization: OrganizationId,
    id: InvitationId,
    act: Act,
) -> Result<(), Abort<RevokeInvitationError>> {
    let act = lock_authority(connection, organization, act).await?;
    let act = act.ok_or(Abort::Refused(RevokeInvitationError::NotAllowed))?;
    let row: Option<InvitationRow> = invitations::table
        .filter(invitations::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(invitations::id.eq(StoredId(id.as_uuid())))
        .select(InvitationRow::as_select())
        .get_result(connection)
        .await
        .optional()?;
    let row = row.ok_or(Abort::Refused(RevokeInvitationError::NotFound))?;
    match Invitation::try_from(row)?.end {
        Some(InvitationEnd::Accepted { .. }) => {
            return Err(Abort::Refused(RevokeInvitationError::Accepted));
        }
        Some(InvitationEnd::Revoked { .. }) => return Ok(()),
        None => {}
    }
    diesel::update(invitations::table.filter(invitations::id.eq(StoredId(id.as_uuid()))))
        .set(invitations::revoked_at.eq(StoredMoment::from(act.at)))
        .execute(connection)
        .await?;
    write_event(connection, act.invitation_revoked(id)).await?;
    Ok(())
}
