//! `keyward admin create-user`: one more person.

use keyward_domain::organization::Slug;
use keyward_domain::sign_in::accounts::{AccountDraft, CreateAccountError};

use super::Failure;
use super::new_password::NewPassword;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::CreateUserOptions;
use crate::output;
use crate::storage::{self, OpenError};

/// Creates a user who is a member of an organization.
pub(crate) async fn run(options: CreateUserOptions) -> Result<(), Failure> {
    let sources = sources_of_this_machine();
    let username = options.person.username.clone();
    let display_name = options.person.display_name()?;
    let store = storage::open_existing(&options.storage.database).await?;
    let accounts = Composition::new(sources.clone(), store).accounts();
    let organizations = accounts.organizations().await?;
    let slugs = organizations.iter().map(|organization| organization.slug.clone());
    let organization = chosen(options.organization, slugs.collect())?;
    let name = organizations
        .iter()
        .find(|existing| existing.slug == organization)
        .map(|existing| existing.name.as_str());
    let names = [
        display_name.as_str(),
        organization.as_str(),
        name.unwrap_or_default(),
    ];
    let NewPassword { password, generated } =
        NewPassword::obtain(&options.password, &username, &names, &sources)?;
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
fn chosen(asked: Option<Slug>, mut existing: Vec<Slug>) -> Result<Slug, Failure> {
    match asked {
        _ if existing.is_empty() => Err(OpenError::NotSetUp.into()),
        Some(slug) if existing.contains(&slug) => Ok(slug),
        Some(asked) => Err(Failure::OrganizationUnknown { asked, existing }),
        None if existing.len() > 1 => Err(Failure::OrganizationAmbiguous { existing }),
        None => existing.pop().ok_or_else(|| OpenError::NotSetUp.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slugs(texts: &[&str]) -> Vec<Slug> {
        texts.iter().map(|text| Slug::parse(text).unwrap()).collect()
    }

    fn choose(asked: Option<&str>, existing: &[&str]) -> Result<String, String> {
        chosen(asked.map(|slug| Slug::parse(slug).unwrap()), slugs(existing))
            .map(|slug| slug.to_string())
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_only_organization_need_not_be_named() {
        assert_eq!(choose(None, &["acme"]).unwrap(), "acme");
        assert_eq!(choose(Some("acme"), &["acme"]).unwrap(), "acme");
    }

    #[test]
    fn one_of_several_must_be_named() {
        assert_eq!(choose(Some("beta"), &["acme", "beta"]).unwrap(), "beta");
        assert_eq!(
            choose(None, &["acme", "beta"]).unwrap_err(),
            "there are several organizations: say which with --organization, one of acme, beta"
        );
        assert_eq!(
            choose(Some("other"), &["acme", "beta"]).unwrap_err(),
            "there is no organization other: --organization can be acme, beta"
        );
    }

    #[test]
    fn there_is_none_before_the_first_run() {
        for asked in [None, Some("acme")] {
            assert!(
                choose(asked, &[])
                    .unwrap_err()
                    .starts_with("Keyward is not set up yet")
            );
        }
    }
}
