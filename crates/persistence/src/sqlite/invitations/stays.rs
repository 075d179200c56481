//! What whoever takes an invitation was and is in its organization.

use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Membership;

use crate::abort::Abort;
use crate::sqlite::columns::StoredId;
use crate::sqlite::people::MembershipRow;
use crate::sqlite::schema::memberships;

/// A user's memberships in an organization, over or not.
pub(super) fn stays_of<E>(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    user: UserId,
) -> Result<Vec<Membership>, Abort<E>> {
    let rows: Vec<MembershipRow> = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
        .select(MembershipRow::as_select())
        .load(connection)?;
    let stays: Result<_, _> = rows.into_iter().map(Membership::try_from).collect();
    Ok(stays?)
}
