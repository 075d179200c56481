//! Joining with an invitation.

use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use diesel::{OptionalExtension, QueryResult};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Membership;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError};

use super::row::InvitationRow;
use super::stays::stays_of;
use crate::abort::Abort;
use crate::sqlite::audit_log::write_events;
use crate::sqlite::authority::may_administer;
use crate::sqlite::columns::StoredId;
use crate::sqlite::errors::violates_unique;
use crate::sqlite::people::{MembershipRow, NewUserRow};
use crate::sqlite::schema::{invitations, memberships, users};

pub(super) fn as_newcomer(
    connection: &mut SqliteConnection,
    id: InvitationId,
    account: Account,
    membership: Membership,
    events: Vec<AuditEvent>,
) -> Result<(), Abort<AcceptAsNewcomerError>> {
    if open_for(connection, id, &membership)?.is_none() {
        return Err(Abort::Refused(AcceptAsNewcomerError::NotOpen));
    }
    add_user(connection, account)?;
    begin(connection, id, membership, events)?;
    Ok(())
}

pub(super) fn as_user(
    connection: &mut SqliteConnection,
    id: InvitationId,
    membership: Membership,
    events: Vec<AuditEvent>,
) -> Result<(), Abort<AcceptAsUserError>> {
    let invitation = open_for(connection, id, &membership)?;
    let invitation = invitation.ok_or(Abort::Refused(AcceptAsUserError::NotOpen))?;
    let stays = stays_of(connection, membership.organization_id, membership.user_id)?;
    if stays.iter().any(|stay| invitation.precedes_end_of(stay)) {
        return Err(Abort::Refused(AcceptAsUserError::NotOpen));
    }
    if stays.iter().any(Membership::is_live) {
        return Err(Abort::Refused(AcceptAsUserError::AlreadyMember));
    }
    begin(connection, id, membership, events)?;
    Ok(())
}

/// The invitation, if the membership may begin with it.
fn open_for<E>(
    connection: &mut SqliteConnection,
    id: InvitationId,
    membership: &Membership,
) -> Result<Option<Invitation>, Abort<E>> {
    let row: Option<InvitationRow> = invitations::table
        .filter(invitations::id.eq(StoredId(id.as_uuid())))
        .filter(invitations::organization_id.eq(StoredId(membership.organization_id.as_uuid())))
        .select(InvitationRow::as_select())
        .get_result(connection)
        .optional()?;
    let Some(row) = row else {
        return Ok(None);
    };
    let invitation = Invitation::try_from(row)?;
    let is_open = invitation.is_for(membership)
        && may_administer(connection, membership.organization_id, invitation.invited_by)?;
    Ok(is_open.then_some(invitation))
}

/// Ends the invitation and begins the membership.
fn begin(
    connection: &mut SqliteConnection,
    id: InvitationId,
    membership: Membership,
    events: Vec<AuditEvent>,
) -> QueryResult<()> {
    let (membership_id, joined_at) = (membership.id, membership.joined_at);
    diesel::insert_into(memberships::table)
        .values(MembershipRow::from(membership))
        .execute(connection)?;
    diesel::update(invitations::table.filter(invitations::id.eq(StoredId(id.as_uuid()))))
        .set((
            invitations::accepted_at.eq(joined_at.timestamp_millis()),
            invitations::accepted_membership_id.eq(StoredId(membership_id.as_uuid())),
        ))
        .execute(connection)?;
    write_events(connection, events)
}

/// Of two that want the same name, the second comes after the first, and the unique index refuses it.
fn add_user(connection: &mut SqliteConnection, account: Account) -> Result<(), Abort<AcceptAsNewcomerError>> {
    diesel::insert_into(users::table)
        .values(NewUserRow::new(&account.user, &account.password_hash))
        .execute(connection)
        .map_err(|error| {
            if violates_unique(&error, "users.username") {
                Abort::Refused(AcceptAsNewcomerError::UsernameTaken)
            } else {
                Abort::Query(error)
            }
        })?;
    Ok(())
}
