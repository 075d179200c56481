//! Who may run an organization, and one change after the other.

use diesel::OptionalExtension;
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use keyward_domain::audit::Actor;
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Role;

use super::schema::{memberships, organizations};

/// Makes every other change to how this organization is run wait for the end of this transaction, so what it reads of
/// roles, members and projects stays true. Says whether whoever acts still may: since the page was opened, their role may
/// have ended.
///
/// Comes first in its transaction: whoever locks a membership or keys as well does so after this.
pub(super) async fn lock_authority(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
    actor: Actor,
) -> Result<bool, QueryError> {
    let ((), may_administer) = try_join(
        lock_organization(connection, organization),
        may_administer(connection, organization, actor),
    )
    .await?;
    Ok(may_administer)
}

/// Whether whoever this is may run the organization now. It stays true under the organization's lock.
pub(super) async fn may_administer(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
    actor: Actor,
) -> Result<bool, QueryError> {
    match actor {
        Actor::User(user) => is_owner(connection, organization, user).await,
        Actor::Administrator => Ok(true),
        Actor::ApiKey(_) | Actor::Retention | Actor::Anonymous => Ok(false),
    }
}

/// The lock alone, where somebody acts who needs no role.
pub(super) async fn lock_organization(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
) -> Result<(), QueryError> {
    // `FOR NO KEY UPDATE` lets rows refer to the organization meanwhile.
    organizations::table
        .filter(organizations::id.eq(organization.as_uuid()))
        .select(organizations::id)
        .for_no_key_update()
        .get_result::<uuid::Uuid>(&mut connection)
        .await
        .optional()?;
    Ok(())
}

async fn is_owner(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
    user: UserId,
) -> Result<bool, QueryError> {
    diesel::select(exists(
        memberships::table
            .filter(memberships::organization_id.eq(organization.as_uuid()))
            .filter(memberships::user_id.eq(user.as_uuid()))
            .filter(memberships::ended_at.is_null())
            .filter(memberships::role.eq(Role::Owner.as_str())),
    ))
    .get_result(&mut connection)
    .await
}
