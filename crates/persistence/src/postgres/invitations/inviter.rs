//! What one user has offered: it ends when they may not invite any more.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::audit::{Act, Actor};
use keyward_domain::id::{InvitationId, OrganizationId, UserId};
use uuid::Uuid;

use crate::abort::Abort;
use crate::actor;
use crate::postgres::audit_log::write_events;
use crate::postgres::schema::invitations;

/// The invitations of an organization by a user that are open at a moment.
macro_rules! open_by {
    ($organization:expr, $inviter:expr, $at:expr) => {{
        let (kind, id) = actor::to_columns(Actor::User($inviter));
        invitations::table
            .filter(invitations::organization_id.eq($organization.as_uuid()))
            .filter(invitations::invited_by_kind.eq(kind))
            .filter(invitations::invited_by_id.eq(id))
            .filter(invitations::accepted_at.is_null())
            .filter(invitations::revoked_at.is_null())
            .filter(invitations::expires_at.gt($at))
    }};
}

/// Takes a user's open invitations back, with an event for each. Comes under the lock of the organization, under which
/// they are made and accepted, too.
pub(in crate::postgres) async fn take_back_by(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    inviter: UserId,
    act: &Act,
) -> QueryResult<()> {
    let ids: Vec<Uuid> = open_by!(organization, inviter, act.at)
        .order(invitations::id)
        .select(invitations::id)
        .load(connection)
        .await?;
    diesel::update(open_by!(organization, inviter, act.at))
        .set(invitations::revoked_at.eq(act.at))
        .execute(connection)
        .await?;
    let events = ids
        .into_iter()
        .map(|id| act.invitation_taken_back(InvitationId::from_uuid(id)));
    write_events(connection, events.collect()).await
}

pub(super) async fn count_open(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    inviter: UserId,
    at: DateTime<Utc>,
) -> Result<u64, Abort<Infallible>> {
    let count: i64 = open_by!(organization, inviter, at)
        .count()
        .get_result(connection)
        .await?;
    Ok(count.unsigned_abs())
}
