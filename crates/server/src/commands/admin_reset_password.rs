//! `keyward admin reset-password`: for users whose password was forgotten or leaked.

use keyward_domain::sign_in::accounts::ResetPasswordError;

use super::Failure;
use super::new_password::NewPassword;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::ResetPasswordOptions;
use crate::output;
use crate::storage;

/// Replaces a user's password and ends their sessions.
pub(crate) async fn run(options: ResetPasswordOptions) -> Result<(), Failure> {
    let sources = sources_of_this_machine();
    let username = options.username;
    let store = storage::open_existing(&options.storage.database).await?;
    let accounts = Composition::new(sources.clone(), store).accounts();
    let user = accounts.find_user(&username).await?;
    let user = user.ok_or_else(|| Failure::UserUnknown(username.clone()))?;
    let organizations = accounts.organizations_of(&user).await?;
    let names: Vec<&str> = organizations
        .iter()
        .map(|organization| organization.name.as_str())
        .chain([user.display_name.as_str()])
        .collect();
    let NewPassword { password, generated } =
        NewPassword::obtain(&options.password, &username, &names, &sources)?;
    accounts
        .reset_password(&username, &password)
        .await
        .map_err(|error| match error {
            ResetPasswordError::UserUnknown => Failure::UserUnknown(username.clone()),
            ResetPasswordError::Hashing(error) => Failure::Hashing(error),
            ResetPasswordError::Storage(error) => NewPassword::failure(generated.as_ref(), error),
        })?;
    output::report(&format!(
        "Replaced the password of {username} and ended all of their sessions. Their keys stay valid."
    ));
    generated.map_or(Ok(()), |generated| generated.print())
}
