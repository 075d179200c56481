//! What the end of a membership takes with it, be it ended there and then or by plan.

use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};

use super::dialect::{Connection, RunQueryDsl};
use super::events::write_event;
use super::open_invitations::take_back_by;
use super::schema::{memberships, project_members};
use crate::columns::{StoredId, StoredMoment};

/// A membership whose planned end has come and is not recorded.
pub(crate) struct DueMembership {
    pub(crate) id: MembershipId,
    pub(crate) organization: OrganizationId,
    pub(crate) user: UserId,
}

/// Takes the member out of all projects, and their open invitations back. Comes under the lock of the organization.
pub(crate) async fn end_what_goes_with_it(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    user: UserId,
    act: &Act,
) -> QueryResult<()> {
    diesel::delete(project_members::table.filter(project_members::membership_id.eq(StoredId(id.as_uuid()))))
        .execute(connection)
        .await?;
    take_back_by(connection, organization, user, act).await
}

/// Records that the planned end has come, with its event and all that goes with it. Comes under the lock of the organization,
/// under which nobody else records it.
pub(crate) async fn record_end_of_membership(
    connection: &mut Connection,
    due: &DueMembership,
    act: &Act,
) -> QueryResult<()> {
    let DueMembership {
        id,
        organization,
        user,
    } = *due;
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(id.as_uuid()))))
        .set(memberships::end_came_at.eq(StoredMoment::from(act.at)))
        .execute(connection)
        .await?;
    write_event(connection, act.planned_end_of_membership(organization, id)).await?;
    end_what_goes_with_it(connection, organization, id, user, &act.of_system(organization)).await
}
