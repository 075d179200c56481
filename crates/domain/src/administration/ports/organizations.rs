//! The store of what an organization has chosen for itself.

use async_trait::async_trait;

use crate::audit::Act;
use crate::id::OrganizationId;
use crate::ports::StorageError;

/// Changes what an organization has chosen for itself.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait OrganizationStore: Send + Sync {
    /// Sets [`Organization::new_keys_manage_keys`](crate::organization::Organization::new_keys_manage_keys), which
    /// [`ApiKeys::add`](crate::ports::ApiKeys::add) follows from then on. Keys that exist stay as they are.
    ///
    /// MUST write the event `act.choice_for_new_keys(organization, manage_keys)`, unless the organization has chosen so
    /// already.
    async fn choose_for_new_keys(
        &self,
        organization: OrganizationId,
        manage_keys: bool,
        act: Act,
    ) -> Result<(), ChangeOrganizationError>;
}

/// Why an organization was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeOrganizationError {
    /// Whoever acts is not an owner any more.
    #[error("only an owner may change the organization")]
    NotAllowed,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
