//! The memberships of the user who accepts an invitation.

use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Membership;

use super::super::dialect::{Connection, RunQueryDsl};
use super::super::people::MembershipRow;
use super::super::schema::memberships;
use crate::abort::Abort;
use crate::columns::StoredId;

/// All of a user's memberships in an organization, ended or not. Under the organization's lock, none begins
/// or ends.
pub(super) async fn memberships_of<E>(
    connection: &mut Connection,
    organization: OrganizationId,
    user: UserId,
) -> Result<Vec<Membership>, Abort<E>> {
    let rows: Vec<MembershipRow> = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
        .select(MembershipRow::as_select())
        .load(connection)
        .await?;
    let past_memberships: Result<_, _> = rows.into_iter().map(Membership::try_from).collect();
    Ok(past_memberships?)
}
