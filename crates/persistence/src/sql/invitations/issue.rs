//! Creating and revoking invitations.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{AddInvitationError, NewInvitation, RevokeInvitationError};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{InvitationId, OrganizationId};
use keyward_domain::invitation::{Invitation, InvitationEnd};

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::events::write_event;
use super::super::schema::invitations;
use super::row::{InvitationRow, NewInvitationRow};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn add(
    connection: &mut Connection,
    new: NewInvitation,
    event: AuditEvent,
) -> Result<(), Abort<AddInvitationError>> {
    let organization = new.invitation.organization_id;
    if !lock_authority(connection, organization, event.actor, event.at).await? {
        return Err(Abort::Refused(AddInvitationError::NotAllowed));
    }
    // Until this transaction ends, no other adds invitations to the organization.
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
    diesel::insert_into(invitations::table)
        .values(NewInvitationRow::new(&new))
        .execute(connection)
        .await?;
    write_event(connection, event).await?;
    Ok(())
}

pub(super) async fn revoke(
    connection: &mut Connection,
    organization: OrganizationId,
    id: InvitationId,
    event: AuditEvent,
) -> Result<(), Abort<RevokeInvitationError>> {
    if !lock_authority(connection, organization, event.actor, event.at).await? {
        return Err(Abort::Refused(RevokeInvitationError::NotAllowed));
    }
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
        .set(invitations::revoked_at.eq(StoredMoment::from(event.at)))
        .execute(connection)
        .await?;
    write_event(connection, event).await?;
    Ok(())
}
