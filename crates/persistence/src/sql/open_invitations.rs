//! The open invitations of one user, which end when the user is no longer an owner.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::dsl::not;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use keyward_domain::audit::{Act, Actor};
use keyward_domain::id::{InvitationId, OrganizationId, UserId};

use super::dialect::{Connection, RunQueryDsl, write_events};
use super::schema::invitations;
use crate::abort::Abort;
use crate::actor;
use crate::columns::{StoredId, StoredMoment};

/// The invitations of an organization that are open at a moment.
macro_rules! open {
    ($organization:expr, $at:expr) => {
        invitations::table
            .filter(invitations::organization_id.eq(StoredId($organization.as_uuid())))
            .filter(invitations::accepted_at.is_null())
            .filter(invitations::revoked_at.is_null())
            .filter(invitations::expires_at.gt(StoredMoment::from($at)))
    };
}

/// That a user has made an invitation.
macro_rules! made_by {
    ($user:expr) => {{
        let (kind, id) = actor::to_columns(Actor::User($user));
        invitations::invited_by_kind
            .eq(kind)
            .and(invitations::invited_by_id.eq(id.map(StoredId)))
    }};
}

/// Revokes a user's open invitations, with an event for each. MUST be called under the organization's lock, under which
/// invitations are also created and accepted.
pub(crate) async fn take_back_by(
    connection: &mut Connection,
    organization: OrganizationId,
    inviter: UserId,
    act: &Act,
) -> QueryResult<()> {
    let ids: Vec<StoredId> = open!(organization, act.at)
        .filter(made_by!(inviter))
        .order(invitations::id)
        .select(invitations::id)
        .load(connection)
        .await?;
    diesel::update(open!(organization, act.at).filter(made_by!(inviter)))
        .set(invitations::revoked_at.eq(StoredMoment::from(act.at)))
        .execute(connection)
        .await?;
    let events = ids
        .into_iter()
        .map(|id| act.invitation_taken_back(InvitationId::from_uuid(id.0)));
    write_events(connection, events.collect()).await
}

pub(crate) async fn count_open(
    connection: &mut Connection,
    organization: OrganizationId,
    inviter: UserId,
    at: DateTime<Utc>,
) -> Result<u64, Abort<Infallible>> {
    let count: i64 = open!(organization, at)
        .filter(made_by!(inviter))
        .count()
        .get_result(connection)
        .await?;
    Ok(count.unsigned_abs())
}

pub(crate) async fn count_open_by_others(
    connection: &mut Connection,
    organization: OrganizationId,
    user: UserId,
    at: DateTime<Utc>,
) -> Result<u64, Abort<Infallible>> {
    let count: i64 = open!(organization, at)
        .filter(not(made_by!(user)))
        .count()
        .get_result(connection)
        .await?;
    Ok(count.unsigned_abs())
}
