//! Joining with an invitation.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{AcceptInvitationError, Joiner};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Membership;
use keyward_domain::sign_in::accounts::Account;

use super::row::InvitationRow;
use super::stays::stays_of;
use crate::abort::Abort;
use crate::postgres::audit_log::write_events;
use crate::postgres::authority::{lock_organization, may_administer};
use crate::postgres::errors::violates_unique;
use crate::postgres::people::{MembershipRow, NewUserRow};
use crate::postgres::schema::{invitations, memberships, users};

pub(super) async fn accept(
    connection: &mut AsyncPgConnection,
    id: InvitationId,
    joiner: Joiner,
    membership: Membership,
    events: Vec<AuditEvent>,
) -> Result<(), Abort<AcceptInvitationError>> {
    // Nobody else takes this invitation, takes it back, or becomes a member with another one, and whoever made it stays
    // an owner or stays none, until the end of this transaction.
    lock_organization(connection, membership.organization_id).await?;
    let row: Option<InvitationRow> = invitations::table
        .filter(invitations::id.eq(id.as_uuid()))
        .filter(invitations::organization_id.eq(membership.organization_id.as_uuid()))
        .select(InvitationRow::as_select())
        .first(connection)
        .await
        .optional()?;
    let row = row.ok_or(Abort::Refused(AcceptInvitationError::NotOpen))?;
    let invitation = Invitation::try_from(row)?;
    if !invitation.is_for(&membership)
        || !may_administer(connection, membership.organization_id, invitation.invited_by).await?
    {
        return Err(Abort::Refused(AcceptInvitationError::NotOpen));
    }
    match joiner {
        Joiner::Newcomer(account) => add_user(connection, account).await?,
        Joiner::User(user) => {
            let stays = stays_of(connection, membership.organization_id, user).await?;
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
        .execute(connection)
        .await?;
    diesel::update(invitations::table.filter(invitations::id.eq(id.as_uuid())))
        .set((
            invitations::accepted_at.eq(joined_at),
            invitations::accepted_membership_id.eq(membership_id.as_uuid()),
        ))
        .execute(connection)
        .await?;
    write_events(connection, events).await?;
    Ok(())
}

/// Of two that want the same name, also in different organizations, the unique index lets the second wait for the first,
/// and then refuses it.
async fn add_user(
    connection: &mut AsyncPgConnection,
    account: Account,
) -> Result<(), Abort<AcceptInvitationError>> {
    diesel::insert_into(users::table)
        .values(NewUserRow::new(&account.user, &account.password_hash))
        .execute(connection)
        .await
        .map_err(|error| {
            if violates_unique(&error, "users_username_key") {
                Abort::Refused(AcceptInvitationError::UsernameTaken)
            } else {
                Abort::Query(error)
            }
        })?;
    Ok(())
}
