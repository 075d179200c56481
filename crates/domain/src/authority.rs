//! The right to run an organization.

use crate::audit::{Act, Actor, RequestSource};
use crate::id::OrganizationId;
use crate::sources::Sources;

/// The right to run one organization: of one of its owners, signed in
/// ([`Member::as_authority`](crate::membership::Member::as_authority)), or of the command line on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority {
    pub(crate) organization_id: OrganizationId,
    pub(crate) actor: Actor,
}

impl Authority {
    /// The command line has authority over every organization.
    #[must_use]
    pub const fn of_administrator(organization_id: OrganizationId) -> Self {
        Self {
            organization_id,
            actor: Actor::Administrator,
        }
    }

    /// The one organization that it covers.
    pub const fn organization_id(&self) -> OrganizationId {
        self.organization_id
    }

    /// The authority as the audit log names it.
    pub const fn as_actor(&self) -> Actor {
        self.actor
    }

    /// An act of the authority, now, in that organization.
    #[must_use]
    pub(crate) fn act(&self, sources: &Sources, source: RequestSource) -> Act {
        sources.act(self.actor, source).within(self.organization_id)
    }
}
