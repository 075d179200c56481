//! The organization that an administrator names.

use keyward_domain::administration::Authority;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::sign_in::Accounts;

use super::Failure;
use crate::composition::Composition;
use crate::storage::OpenError;

/// The authority of the command line over the organization with this slug, if there is one.
pub(super) async fn authority_over(composition: &Composition, slug: &Slug) -> Result<Authority, Failure> {
    let organization = named(&composition.accounts(), slug).await?;
    Ok(Authority::of_administrator(organization.id))
}

/// The organization that was asked for, or the only one.
pub(super) async fn chosen(accounts: &Accounts, asked: Option<&Slug>) -> Result<Organization, Failure> {
    match asked {
        Some(slug) => named(accounts, slug).await,
        None => the_only(accounts.organizations().await?),
    }
}

async fn named(accounts: &Accounts, slug: &Slug) -> Result<Organization, Failure> {
    match accounts.find_organization(slug).await? {
        Some(organization) => Ok(organization),
        None => Err(unknown(slug, accounts.organizations().await?)),
    }
}

fn unknown(asked: &Slug, organizations: Vec<Organization>) -> Failure {
    if organizations.is_empty() {
        return OpenError::NotSetUp.into();
    }
    Failure::OrganizationUnknown {
        asked: asked.clone(),
        existing: slugs_of(organizations),
    }
}

fn the_only(mut organizations: Vec<Organization>) -> Result<Organization, Failure> {
    match organizations.pop() {
        None => Err(OpenError::NotSetUp.into()),
        Some(only) if organizations.is_empty() => Ok(only),
        Some(last) => {
            organizations.push(last);
            Err(Failure::OrganizationAmbiguous {
                existing: slugs_of(organizations),
            })
        }
    }
}

fn slugs_of(organizations: Vec<Organization>) -> Vec<Slug> {
    let slugs = organizations.into_iter().map(|organization| organization.slug);
    slugs.collect()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use keyward_domain::organization::OrganizationName;

    use super::*;
    use crate::composition::sources_of_this_machine;

    fn organizations(slugs: &[&str]) -> Vec<Organization> {
        let organization = |slug: &&str| Organization {
            id: sources_of_this_machine().next_id(),
            slug: Slug::parse(slug).unwrap(),
            name: OrganizationName::parse("Acme").unwrap(),
            created_at: DateTime::UNIX_EPOCH,
            new_keys_manage_keys: true,
            longest_key_life: None,
        };
        slugs.iter().map(organization).collect()
    }

    #[test]
    fn organization_option_may_be_omitted_with_one_organization() {
        assert_eq!(the_only(organizations(&["acme"])).unwrap().slug.as_str(), "acme");
    }

    #[test]
    fn organization_option_is_required_with_several_organizations() {
        assert_eq!(
            the_only(organizations(&["acme", "beta"]))
                .unwrap_err()
                .to_string(),
            "there are several organizations: set --organization to one of acme, beta"
        );
        let other = Slug::parse("other").unwrap();
        assert_eq!(
            unknown(&other, organizations(&["acme", "beta"])).to_string(),
            "there is no organization other: set --organization to one of acme, beta"
        );
    }

    #[test]
    fn no_organization_exists_before_setup() {
        let acme = Slug::parse("acme").unwrap();
        for failure in [the_only(Vec::new()).unwrap_err(), unknown(&acme, Vec::new())] {
            assert!(failure.to_string().starts_with("Keyward is not set up yet"));
        }
    }
}
