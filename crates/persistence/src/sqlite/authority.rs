//! Who may run an organization.

use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use keyward_domain::audit::Actor;
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Role;

use super::schema::memberships;
use crate::columns::StoredId;

/// Whether whoever acts still may: since the page was opened, their role may have ended. It stays true until the end of
/// this transaction.
pub(super) fn may_administer(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    actor: Actor,
) -> Result<bool, QueryError> {
    match actor {
        Actor::User(user) => is_owner(connection, organization, user),
        Actor::Administrator => Ok(true),
        Actor::ApiKey(_) | Actor::Retention | Actor::Anonymous => Ok(false),
    }
}

fn is_owner(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    user: UserId,
) -> Result<bool, QueryError> {
    diesel::select(exists(
        memberships::table
            .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
            .filter(memberships::user_id.eq(StoredId(user.as_uuid())))
            .filter(memberships::ended_at.is_null())
            .filter(memberships::role.eq(Role::Owner.as_str())),
    ))
    .get_result(connection)
}
