//! Joining with an invitation.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::administration::ports::{AcceptInvitationError, Joiner};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Membership;
use keyward_domain::sign_in::accounts::Account;

use super::row::InvitationRow;
use super::stays::stays_of;
use crate::abort::Abort;
use crate::sqlite::audit_log::write_events;
use crate::sqlite::authority::may_administer;
use crate::sqlite::columns::StoredId;
use crate::sqlite::errors::violates_unique;
use crate::sqlite::people::{MembershipRow, NewUserRow};
use crate::sqlite::schema::{invitations, memberships, users};

pub(super) fn accept(
    connection: &mut SqliteConnection,
    id: InvitationId,
    joiner: Joiner,
    membership: Membership,
    events: Vec<AuditEvent>,
) -> Result<(), Abort<AcceptInvitationError>> {
    let row: Option<InvitationRow> = invitations::table
        .filter(invitations::id.eq(StoredId(id.as_uuid())))
        .filter(invitations::organization_id.eq(StoredId(membership.organization_id.as_uuid())))
        .select(InvitationRow::as_select())
        .first(connection)
        .optional()?;
    let row = row.ok_or(Abort::Refused(AcceptInvitationError::NotOpen))?;
    let invitation = Invitation::try_from(row)?;
    if !invitation.is_for(&membership)
        || !may_administer(connection, membership.organization_id, invitation.invited_by)?
    {
        return Err(Abort::Refused(AcceptInvitationError::NotOpen));
    }
    match joiner {
        Joiner::Newcomer(account) => add_user(connection, account)?,
        Joiner::User(user) => {
            let stays = stays_of(connection, membership.organization_id, user)?;
            if stays.iter().any(|stay| invitation.precedes_end_of(stay)) {
                return Err(Abort::Refused(AcceptInvitationError::NotOpen));
            }
            if stays.iter().any(Membership::is_live) {
                return Err(Abort::Refused(AcceptInvitationError::AlreadyMember));
            }
        }
    }
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
    write_events(connection, events)?;
    Ok(())
}

/// Of two that want the same name, the second comes after the first, and the unique index refuses it.
fn add_user(connection: &mut SqliteConnection, account: Account) -> Result<(), Abort<AcceptInvitationError>> {
    diesel::insert_into(users::table)
        .values(NewUserRow::new(&account.user, &account.password_hash))
        .execute(connection)
        .map_err(|error| {
            if violates_unique(&error, "users.username") {
                Abort::Refused(AcceptInvitationError::UsernameTaken)
            } else {
                Abort::Query(error)
            }
        })?;
    Ok(())
}
