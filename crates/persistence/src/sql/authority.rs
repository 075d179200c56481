//! Locks an organization for changes, and checks who acts.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use keyward_domain::audit::Actor;
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Role;

use super::dialect::{Pipelined, RunQueryDsl, locked, pipeline};
use super::schema::{memberships, organizations};
use super::validity::membership_is_live;
use crate::columns::StoredId;

/// Locks the organization: other administrative changes wait until this transaction ends, so what it reads of
/// roles, members and projects stays true. Returns whether the actor still has authority; their role may have
/// ended since the request was authenticated.
///
/// MUST be the first lock of its transaction, before those of memberships and keys. Whoever tells a later
/// moment in the events of an act MUST ask [`may_administer`] again at that moment.
pub(crate) async fn lock_authority(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    actor: Actor,
    at: DateTime<Utc>,
) -> Result<bool, QueryError> {
    let ((), may_administer) = pipeline!(
        connection,
        lock_organization(connection, organization),
        may_administer(connection, organization, actor, at)
    );
    Ok(may_administer)
}

/// Whether the actor has authority over the organization now. Stays true under the organization's lock.
pub(crate) async fn may_administer(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    actor: Actor,
    at: DateTime<Utc>,
) -> Result<bool, QueryError> {
    match actor {
        Actor::User(user) => is_owner(connection, organization, user, at).await,
        Actor::Administrator => Ok(true),
        Actor::ApiKey(_) | Actor::System | Actor::Anonymous => Ok(false),
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

async fn is_owner(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    user: UserId,
    at: DateTime<Utc>,
) -> Result<bool, QueryError> {
    diesel::select(exists(
        memberships::table
            .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
            .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
            .filter(membership_is_live(at.into()))
            .filter(memberships::role.eq(Role::Owner.as_str())),
    ))
    .get_result(&mut connection)
    .await
}
