//! Inviting, and taking an invitation back.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{AddInvitationError, NewInvitation, RevokeInvitationError};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{InvitationId, OrganizationId};
use keyward_domain::invitation::{Invitation, InvitationEnd};

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
    diesel::insert_into(invitations::table)
        .values(NewInvitationRow::new(&new))
        .execute(connection)
        .await?;
    write_event(connection, event).await?;
    Ok(())
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
        .first(connection)
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
