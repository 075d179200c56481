//! What whoever takes an invitation was and is in its organization.

use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Membership;

use crate::abort::Abort;
use crate::postgres::people::MembershipRow;
use crate::postgres::schema::memberships;

/// A user's memberships in an organization, over or not. Under the organization's lock none begins or ends.
pub(super) async fn stays_of<E>(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    user: UserId,
) -> Result<Vec<Membership>, Abort<E>> {
    let rows: Vec<MembershipRow> = memberships::table
        .filter(memberships::organization_id.eq(organization.as_uuid()))
        .filter(memberships::user_id.eq(user.as_uuid()))
        .select(MembershipRow::as_select())
        .load(connection)
        .await?;
    let stays: Result<_, _> = rows.into_iter().map(Membership::try_from).collect();
    Ok(stays?)
}
