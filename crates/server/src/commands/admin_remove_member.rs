//! `keyward admin remove-member`: removes a member from an organization.

use keyward_domain::administration::ports::EndMembershipError;
use keyward_domain::audit::RequestSource;

use super::Failure;
use super::organization::authority_over;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::RemoveMemberOptions;
use crate::output;
use crate::storage;

/// Ends a membership and all access by its keys.
pub(crate) async fn run(options: RemoveMemberOptions) -> Result<(), Failure> {
    let RemoveMemberOptions {
        organization: slug,
        username,
        storage,
    } = options;
    let store = storage::open_existing(&storage.database).await?;
    let sources = sources_of_this_machine();
    let now = sources.now();
    let composition = Composition::new(sources, store);
    let authority = authority_over(&composition, &slug).await?;
    let members = composition.members();
    let not_a_member = || Failure::NotAMember {
        username: username.clone(),
        organization: slug.clone(),
    };
    let member = members
        .find_to_end_access(&authority, &username, now)
        .await?
        .ok_or_else(not_a_member)?;
    let id = member.membership.id;
    members
        .remove(&authority, id, RequestSource::default())
        .await
        .map_err(|error| match error {
            EndMembershipError::LastOwner => Failure::LastOwner {
                username: username.clone(),
                organization: slug.clone(),
            },
            // An administrator always may, so only the member can be gone.
            EndMembershipError::NotAllowed | EndMembershipError::NotFound => not_a_member(),
            EndMembershipError::Storage(error) => Failure::Storage(error),
        })?;
    output::report(&format!(
        "Removed {username} from {slug}. Their keys for it no longer work."
    ));
    Ok(())
}
