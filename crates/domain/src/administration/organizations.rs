//! What an organization has chosen for itself.

use std::sync::Arc;

use crate::administration::Authority;
use crate::administration::ports::{ChangeOrganizationError, OrganizationStore};
use crate::audit::{Act, RequestSource};
use crate::clock::Clock;
use crate::id::IdGenerator;

/// What an owner can choose for the organization.
#[derive(Clone)]
pub struct Organizations {
    organizations: Arc<dyn OrganizationStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
}

impl Organizations {
    /// The use cases over a store.
    #[must_use]
    pub fn new(
        organizations: Arc<dyn OrganizationStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<IdGenerator>,
    ) -> Self {
        Self {
            organizations,
            clock,
            ids,
        }
    }

    /// Chooses whether keys created from now on may manage keys unless something else is asked for. Keys that exist stay
    /// as they are.
    ///
    /// # Errors
    /// See [`ChangeOrganizationError`]; then nothing was changed.
    pub async fn choose_for_new_keys(
        &self,
        authority: &Authority,
        manage_keys: bool,
        source: RequestSource,
    ) -> Result<(), ChangeOrganizationError> {
        let organization = authority.organization_id();
        let act = Act::new(&self.ids, self.clock.now(), authority.as_actor(), source).within(organization);
        self.organizations
            .choose_for_new_keys(organization, manage_keys, act)
            .await
    }
}
