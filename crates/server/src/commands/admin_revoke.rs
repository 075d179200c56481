//! `keyward admin revoke`: the end of other people's keys.

use std::collections::HashSet;

use keyward_domain::administration::ports::{KeySelection, RevokeKeysError};
use keyward_domain::administration::{Authority, StopReason, Stopped};
use keyward_domain::audit::RequestSource;
use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Slug;
use keyward_domain::ports::DescendantKeys;

use super::Failure;
use super::organization::authority_over;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::RevokeOptions;
use crate::output;
use crate::storage;

/// Revokes the keys that the options name.
pub(crate) async fn run(options: RevokeOptions) -> Result<(), Failure> {
    let RevokeOptions {
        organization: slug,
        which,
        descendants,
        reason,
        storage,
    } = options;
    let store = storage::open_existing(&storage.database).await?;
    let sources = sources_of_this_machine();
    let now = sources.now();
    let composition = Composition::new(sources, store);
    let authority = authority_over(&composition, &slug).await?;
    let selection = match (which.username, which.issued_before) {
        (Some(username), _) => {
            let member = composition
                .members()
                .find_to_end_access(&authority, &username, now)
                .await?;
            let Some(member) = member else {
                return Err(Failure::NotAMember {
                    username,
                    organization: slug,
                });
            };
            KeySelection::OfConsumer(member.membership.id)
        }
        (None, Some(moment)) => composition.organization_keys().issued_before(moment)?,
        (None, None) => {
            refuse_unknown(&composition, &authority, &slug, &which.keys).await?;
            KeySelection::Keys {
                ids: which.keys,
                descendants: if descendants {
                    DescendantKeys::Revoke
                } else {
                    DescendantKeys::Keep
                },
            }
        }
    };
    let revoked = composition
        .organization_keys()
        .revoke(
            &authority,
            selection,
            Some(reason),
            RequestSource::default(),
            None,
        )
        .await
        .map_err(
            |Stopped {
                 progress: revoked,
                 why,
             }| match why {
                // An administrator always may, so the organization is gone.
                StopReason::Refused(RevokeKeysError::NotAllowed) => Failure::OrganizationGone(slug.clone()),
                StopReason::Refused(RevokeKeysError::Storage(error)) if revoked.count == 0 => {
                    Failure::Storage(error)
                }
                why @ (StopReason::TimeBudgetExceeded | StopReason::Refused(RevokeKeysError::Storage(_))) => {
                    Failure::RevokedInPart {
                        revoked: revoked.count,
                        organization: slug.clone(),
                        why,
                    }
                }
            },
        )?;
    output::report(&match revoked.count {
        0 => format!("Nothing was revoked: {slug} has no such valid keys."),
        1 => format!("Revoked 1 key of {slug}. It no longer works."),
        several => format!("Revoked {several} keys of {slug}. They no longer work."),
    });
    Ok(())
}

/// A mistyped identifier must not look like a key that was dead already.
async fn refuse_unknown(
    composition: &Composition,
    authority: &Authority,
    organization: &Slug,
    keys: &[ApiKeyId],
) -> Result<(), Failure> {
    // SQLite asks about 32,766 at once at most.
    for some in keys.chunks(1_000) {
        let found = composition.organization_keys().find_many(authority, some).await?;
        let found: HashSet<ApiKeyId> = found.into_iter().map(|key| key.id).collect();
        if let Some(key) = some.iter().find(|key| !found.contains(key)) {
            return Err(Failure::KeyUnknown {
                key: *key,
                organization: organization.clone(),
            });
        }
    }
    Ok(())
}
