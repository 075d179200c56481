//! `keyward admin bootstrap`: the first run without a browser.

use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::setup::{CompleteSetupError, SetupChoices};

use super::Failure;
use super::new_password::NewPassword;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::BootstrapOptions;
use crate::output;
use crate::storage;

/// Creates the first organization with its owner.
pub(crate) async fn run(options: BootstrapOptions) -> Result<(), Failure> {
    let sources = sources_of_this_machine();
    let username = options.person.username.clone();
    let display_name = options.person.display_name()?;
    let names = [options.organization.as_str(), display_name.as_str()];
    let NewPassword { password, generated } =
        NewPassword::obtain(&options.password, &username, &names, &sources)?;
    let choices = SetupChoices {
        organization: options.organization,
        owner: NewcomerChoices {
            display_name,
            username: options.person.username,
            password,
        },
    };
    let store = storage::open_or_make(&options.storage.database).await?;
    let setup = Composition::new(sources, store).setup();
    let organization = setup.bootstrap(choices).await.map_err(|error| match error {
        CompleteSetupError::AlreadySetUp => Failure::AlreadySetUp,
        CompleteSetupError::LinkInvalid => Failure::SetupLinkInvalid,
        CompleteSetupError::Hashing(error) => Failure::Hashing(error),
        CompleteSetupError::Storage(error) => NewPassword::failure(generated.as_ref(), error),
    })?;
    output::report(&format!(
        "Created the organization {} and its owner {username}, who can now sign in to the console.",
        organization.slug
    ));
    generated.map_or(Ok(()), |generated| generated.print())
}
