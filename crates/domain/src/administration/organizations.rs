//! Settings of an organization.

use std::sync::Arc;

use crate::administration::Authority;
use crate::administration::change_limit::ChangeLimit;
use crate::administration::ports::{ChangeOrganizationError, OrganizationStore};
use crate::api_key::LongestLife;
use crate::audit::RequestSource;
use crate::sign_in::ports::Throttle;
use crate::sources::Sources;

/// The use cases of an organization's settings, for owners.
#[derive(Clone)]
pub struct Organizations {
    organizations: Arc<dyn OrganizationStore>,
    limit: ChangeLimit,
    sources: Sources,
}

impl Organizations {
    /// The use cases over a store.
    #[must_use]
    pub fn new(
        organizations: Arc<dyn OrganizationStore>,
        throttle: Arc<dyn Throttle>,
        sources: Sources,
    ) -> Self {
        Self {
            organizations,
            limit: ChangeLimit(throttle),
            sources,
        }
    }

    /// Sets whether new keys may manage keys by default. Existing keys do not change.
    ///
    /// # Errors
    /// See [`ChangeOrganizationError`]; then nothing was changed.
    pub async fn set_default_for_new_keys(
        &self,
        authority: &Authority,
        manage_keys: bool,
        source: RequestSource,
    ) -> Result<(), ChangeOrganizationError> {
        let organization = authority.organization_id();
        let act = authority.act(&self.sources, source);
        if manage_keys {
            self.limit
                .count::<ChangeOrganizationError>(authority, act.at)
                .await?;
        }
        self.organizations
            .set_default_for_new_keys(organization, manage_keys, act)
            .await
    }

    /// Sets the longest life of keys that are created from now on, or removes it. Existing keys do not
    /// change; but their planned ends cannot be put off beyond it.
    ///
    /// # Errors
    /// See [`ChangeOrganizationError`]; then nothing was changed.
    pub async fn limit_key_life(
        &self,
        authority: &Authority,
        longest: Option<LongestLife>,
        source: RequestSource,
    ) -> Result<(), ChangeOrganizationError> {
        let organization = authority.organization_id();
        let act = authority.act(&self.sources, source);
        self.limit
            .count_longest_life::<ChangeOrganizationError>(authority, act.at)
            .await?;
        self.organizations
            .limit_key_life(organization, longest, act)
            .await
    }
}
