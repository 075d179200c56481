//! Locks an organization for changes, and checks who acts.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use keyward_domain::audit::{Act, Actor};
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Role;

use super::dialect::{Pipelined, RunQueryDsl, locked, pipeline};
use super::schema::{memberships, organizations};
use super::validity::{StoredEnd, membership_is_live};
use crate::columns::StoredId;

/// Locks the organization: other administrative changes wait until this transaction ends, so what it reads of
/// roles, members and projects stays true. Returns the act at the moment at which it has the lock, if the actor
/// still has authority then: their role may have ended since the request was authenticated. So the events of
/// such changes have the order in which these were made, by one clock.
///
/// MUST be the first lock of its transaction, before those of memberships and keys. A change that dates its
/// events later MUST call [`may_administer`] again at that time.
pub(crate) async fn lock_authority(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    act: Act,
) -> Result<Option<Act>, QueryError> {
    let ((), end) = pipeline!(
        connection,
        lock_organization(connection, organization),
        end_of_authority(connection, organization, act.actor, act.at)
    );
    let act = act.at_current_time();
    Ok(end.filter(|end| !end.has_come(act.at)).map(|_| act))
}

/// Whether the actor has authority over the organization now. Stays true under the organization's lock.
pub(crate) async fn may_administer(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    actor: Actor,
    at: DateTime<Utc>,
) -> Result<bool, QueryError> {
    let end = end_of_authority(connection, organization, actor, at).await?;
    Ok(end.is_some())
}

/// The end, if one is planned, of the authority that the actor has now; `None` without authority.
async fn end_of_authority(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    actor: Actor,
    at: DateTime<Utc>,
) -> Result<Option<StoredEnd>, QueryError> {
    match actor {
        Actor::User(user) => end_of_owner(connection, organization, user, at).await,
        Actor::Administrator => Ok(Some(StoredEnd::default())),
        Actor::ApiKey(_) | Actor::System | Actor::Anonymous => Ok(None),
    }
}

/// Acquires the lock only: for actors who need no role, or whose role is judged at a later moment.
pub(crate) async fn lock_organization(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
) -> Result<(), QueryError> {
    locked!(
        organizations::table
            .filter(organizations::id.eq(StoredId(organization.as_uuid())))
            .select(organizations::id)
    )
    .get_result::<StoredId>(&mut connection)
    .await
    .optional()?;
    Ok(())
}

async fn end_of_owner(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    user: UserId,
    at: DateTime<Utc>,
) -> Result<Option<StoredEnd>, QueryError> {
    memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
        .filter(membership_is_live(at.into()))
        .filter(memberships::role.eq(Role::Owner.as_str()))
        .select((memberships::ended_at, memberships::end_came_at))
        .get_result(&mut connection)
        .await
        .optional()
}
