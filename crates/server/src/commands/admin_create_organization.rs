//! `keyward admin create-organization`: one more tenant.

use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::CreateOrganizationError;

use super::Failure;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::CreateOrganizationOptions;
use crate::output;
use crate::storage::{self, OpenError};

/// Creates an organization that a user who exists runs.
pub(crate) async fn run(options: CreateOrganizationOptions) -> Result<(), Failure> {
    let store = storage::open_existing(&options.storage.database).await?;
    let accounts = Composition::new(sources_of_this_machine(), store).accounts();
    if accounts.organizations().await?.is_empty() {
        return Err(OpenError::NotSetUp.into());
    }
    let owner = options.owner;
    let organization =
        accounts
            .create_organization(options.name, &owner)
            .await
            .map_err(|error| match error {
                CreateOrganizationError::OwnerUnknown => Failure::UserUnknown(owner.clone()),
                CreateOrganizationError::Storage(StorageError::OutcomeUnknown(source)) => {
                    Failure::OrganizationUnconfirmed(source)
                }
                CreateOrganizationError::Storage(error) => Failure::Storage(error),
            })?;
    output::report(&format!(
        "Created the organization {} with the owner {owner}, who can now open it in the console.",
        organization.slug
    ));
    Ok(())
}
