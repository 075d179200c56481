//! The store of what an organization has chosen for itself.

use async_trait::async_trait;

use crate::api_key::LongestLife;
use crate::audit::Act;
use crate::id::OrganizationId;
use crate::ports::StorageError;
use crate::rate::Throttled;

/// Changes what an organization has chosen for itself.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait OrganizationStore: Send + Sync {
    /// Sets [`Organization::new_keys_manage_keys`](crate::organization::Organization::new_keys_manage_keys),
    /// which [`ApiKeys::add`](crate::ports::ApiKeys::add) follows from then on. Keys that exist stay as they
    /// are.
    ///
    /// MUST write the event `act.choice_for_new_keys(organization, manage_keys)`, unless the organization has
    /// chosen so already.
    async fn set_default_for_new_keys(
        &self,
        organization: OrganizationId,
        manage_keys: bool,
        act: Act,
    ) -> Result<(), ChangeOrganizationError>;

    /// Sets [`Organization::longest_key_life`](crate::organization::Organization::longest_key_life). From
    /// then on, [`ApiKeys::add`](crate::ports::ApiKeys::add), [`rotate`](crate::ports::ApiKeys::rotate) and
    /// [`edit`](crate::ports::ApiKeys::edit) follow it. Keys that exist stay as they are.
    ///
    /// MUST write the event `act.limit_of_key_life(organization, before, longest)`, unless the organization
    /// has chosen so already.
    async fn limit_key_life(
        &self,
        organization: OrganizationId,
        longest: Option<LongestLife>,
        act: Act,
    ) -> Result<(), ChangeOrganizationError>;
}

/// Why an organization was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeOrganizationError {
    /// The actor is not an owner any more.
    #[error("only an owner may change the organization")]
    NotAllowed,
    /// The owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
