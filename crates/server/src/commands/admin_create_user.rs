//! `keyward admin create-user`: one more person.

use keyward_domain::sign_in::accounts::{AccountDraft, CreateAccountError};
use keyward_domain::sign_in::joining::NewcomerChoices;

use super::Failure;
use super::new_password::NewPassword;
use super::organization::chosen;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::CreateUserOptions;
use crate::output;
use crate::storage;

/// Creates a user who is a member of an organization.
pub(crate) async fn run(options: CreateUserOptions) -> Result<(), Failure> {
    let sources = sources_of_this_machine();
    let username = options.person.username.clone();
    let display_name = options.person.display_name()?;
    let store = storage::open_existing(&options.storage.database).await?;
    let accounts = Composition::new(sources.clone(), store).accounts();
    let organization = chosen(&accounts, options.organization.as_ref()).await?;
    let names = [
        display_name.as_str(),
        organization.slug.as_str(),
        organization.name.as_str(),
    ];
    let organization = &organization.slug;
    let NewPassword { password, generated } =
        NewPassword::obtain(&options.password, &username, &names, &sources)?;
    let draft = AccountDraft {
        organization: organization.clone(),
        role: options.role.into(),
        user: NewcomerChoices {
            username: options.person.username,
            display_name,
            password,
        },
    };
    accounts.create(draft).await.map_err(|error| match error {
        CreateAccountError::UsernameTaken => Failure::UsernameTaken(username.clone()),
        CreateAccountError::OrganizationUnknown => Failure::OrganizationGone(organization.clone()),
        CreateAccountError::Hashing(error) => Failure::Hashing(error),
        CreateAccountError::Storage(error) => NewPassword::failure(generated.as_ref(), error),
    })?;
    output::report(&format!(
        "Created {username}, {} of {organization}, who can sign in to the console now.",
        options.role.described()
    ));
    generated.map_or(Ok(()), |generated| generated.print())
}
