//! Inviting, and taking an invitation back.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::result::Error as QueryError;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{AddInvitationError, NewInvitation, RevokeInvitationError};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{InvitationId, OrganizationId};
use keyward_domain::invitation::{Invitation, InvitationEnd};
use keyward_domain::keys::FormNonce;
use uuid::Uuid;

use super::row::{InvitationRow, NewInvitationRow};
use crate::abort::Abort;
use crate::postgres::audit_log::write_event;
use crate::postgres::authority::lock_authority;
use crate::postgres::schema::invitations;

pub(super) async fn add(
    connection: &mut AsyncPgConnection,
    new: NewInvitation,
    event: AuditEvent,
) -> Result<(), Abort<AddInvitationError>> {
    let organization = new.invitation.organization_id;
    if !lock_authority(connection, organization, event.actor).await? {
        return Err(Abort::Refused(AddInvitationError::NotAllowed));
    }
    // Nobody else invites to this organization until the end of this transaction.
    if let Some(nonce) = new.nonce
        && let Some(first) = created_by_form(connection, organization, nonce).await?
    {
        return Err(Abort::Refused(AddInvitationError::AlreadyCreated(first)));
    }
    diesel::insert_into(invitations::table)
        .values(NewInvitationRow::new(&new))
        .execute(connection)
        .await?;
    write_event(connection, event).await?;
    Ok(())
}

async fn created_by_form(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    nonce: FormNonce,
) -> Result<Option<InvitationId>, QueryError> {
    let id: Option<Uuid> = invitations::table
        .filter(invitations::organization_id.eq(organization.as_uuid()))
        .filter(invitations::creation_nonce.eq(nonce.to_bytes().to_vec()))
        .select(invitations::id)
        .get_result(connection)
        .await
        .optional()?;
    Ok(id.map(InvitationId::from_uuid))
}

pub(super) async fn revoke(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: InvitationId,
    event: AuditEvent,
) -> Result<(), Abort<RevokeInvitationError>> {
    if !lock_authority(connection, organization, event.actor).await? {
        return Err(Abort::Refused(RevokeInvitationError::NotAllowed));
    }
    let row: Option<InvitationRow> = invitations::table
        .filter(invitations::organization_id.eq(organization.as_uuid()))
        .filter(invitations::id.eq(id.as_uuid()))
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
    diesel::update(invitations::table.filter(invitations::id.eq(id.as_uuid())))
        .set(invitations::revoked_at.eq(event.at))
        .execute(connection)
        .await?;
    write_event(connection, event).await?;
    Ok(())
}
