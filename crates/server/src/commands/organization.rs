//! The organization that an administrator names.

use keyward_domain::administration::Authority;
use keyward_domain::organization::Slug;

use super::Failure;
use crate::composition::Composition;
use crate::storage::OpenError;

/// Whoever runs the command line may run the organization with this slug, if there is one.
pub(super) async fn authority_over(composition: &Composition, slug: &Slug) -> Result<Authority, Failure> {
    let accounts = composition.accounts();
    if let Some(organization) = accounts.find_organization(slug).await? {
        return Ok(Authority::of_administrator(organization.id));
    }
    let organizations = accounts.organizations().await?.into_iter();
    let existing: Vec<_> = organizations.map(|organization| organization.slug).collect();
    Err(if existing.is_empty() {
        OpenError::NotSetUp.into()
    } else {
        Failure::OrganizationUnknown {
            asked: slug.clone(),
            existing,
        }
    })
}
