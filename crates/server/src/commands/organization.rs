//! The organization that an administrator names.

use keyward_domain::administration::Authority;
use keyward_domain::organization::Slug;

use super::Failure;
use crate::composition::Composition;

/// Whoever runs the command line may run the organization with this slug, if there is one.
pub(super) async fn authority_over(composition: &Composition, slug: &Slug) -> Result<Authority, Failure> {
    let organizations = composition.accounts().organizations().await?;
    if let Some(organization) = organizations
        .iter()
        .find(|organization| organization.slug == *slug)
    {
        return Ok(Authority::of_administrator(organization.id));
    }
    let existing: Vec<_> = organizations
        .into_iter()
        .map(|organization| organization.slug)
        .collect();
    Err(if existing.is_empty() {
        Failure::NotSetUp
    } else {
        Failure::OrganizationUnknown {
            asked: slug.clone(),
            existing,
        }
    })
}
