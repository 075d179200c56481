//! `keyward admin create-user`: one more person.

use keyward_domain::organization::Slug;
use keyward_domain::sign_in::Accounts;
use keyward_domain::sign_in::accounts::{AccountDraft, CreateAccountError};

use super::Failure;
use crate::composition::{Composition, Sources};
use crate::new_password::NewPassword;
use crate::options::CreateUserOptions;
use crate::output;
use crate::storage;

/// Creates a user who is a member of an organization.
pub(crate) async fn run(options: CreateUserOptions) -> Result<(), Failure> {
    let sources = Sources::of_this_machine();
    let username = options.person.username.clone();
    let display_name = options.person.display_name()?;
    let NewPassword { password, generated } =
        NewPassword::obtain(&options.password, &username, &*sources.random)?;
    let store = storage::open(&options.storage.database).await?;
    let accounts = Composition::new(sources, store).accounts();
    let organization = organization(&accounts, options.organization).await?;
    let draft = AccountDraft {
        organization: organization.clone(),
        role: options.role.into(),
        username: options.person.username,
        display_name,
        password,
    };
    accounts.create(draft).await.map_err(|error| match error {
        CreateAccountError::UsernameTaken => Failure::UsernameTaken(username.clone()),
        CreateAccountError::OrganizationUnknown => Failure::OrganizationGone(organization.clone()),
        CreateAccountError::Hashing(error) => Failure::Hashing(error),
        CreateAccountError::Storage(error) => Failure::Storage(error),
    })?;
    output::tell(&format!(
        "Created {username}, {} of {organization}, who can sign in to the console now.",
        options.role.described()
    ));
    generated.map_or(Ok(()), |generated| generated.print())
}

/// The organization that was asked for, or the only one.
async fn organization(accounts: &Accounts, asked: Option<Slug>) -> Result<Slug, Failure> {
    let organizations = accounts.organizations().await?;
    let mut existing: Vec<Slug> = organizations
        .into_iter()
        .map(|organization| organization.slug)
        .collect();
    match asked {
        _ if existing.is_empty() => Err(Failure::NotSetUp),
        Some(slug) if existing.contains(&slug) => Ok(slug),
        Some(asked) => Err(Failure::OrganizationUnknown { asked, existing }),
        None => match existing.pop() {
            Some(only) if existing.is_empty() => Ok(only),
            last => {
                existing.extend(last);
                Err(Failure::OrganizationAmbiguous { existing })
            }
        },
    }
}
