use chrono::{DateTime, Utc};

use super::State;
use crate::audit::Actor;
use crate::id::OrganizationId;
use crate::membership::Role;

impl State {
    /// Whether this actor may run the organization at this time.
    pub(super) fn may_administer(
        &self,
        organization: OrganizationId,
        actor: Actor,
        at: DateTime<Utc>,
    ) -> bool {
        match actor {
            Actor::User(user) => self.memberships.iter().any(|membership| {
                membership.organization_id == organization
                    && membership.user_id == user
                    && membership.role == Role::Owner
                    && membership.is_live(at)
            }),
            Actor::Administrator => true,
            Actor::ApiKey(_) | Actor::System | Actor::Anonymous => false,
        }
    }
}
