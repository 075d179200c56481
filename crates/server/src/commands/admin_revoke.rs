//! `keyward admin revoke`: the end of other people's keys.

use std::collections::HashSet;

use keyward_domain::access::Credential;
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError};
use keyward_domain::administration::{Authority, StopReason, Stopped};
use keyward_domain::audit::RequestSource;
use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::ports::DescendantKeys;
use keyward_domain::token::Token;

use super::Failure;
use super::organization::chosen;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::{RevokeOptions, WhichKeys};
use crate::output;
use crate::standard_input;
use crate::storage;

/// Revokes the keys that the options name.
pub(crate) async fn run(options: RevokeOptions) -> Result<(), Failure> {
    let RevokeOptions {
        organization,
        which,
        descendants,
        reason,
        storage,
    } = options;
    let token = which.token_stdin.then(token_on_standard_input).transpose()?;
    let store = storage::open_existing(&storage.database).await?;
    let composition = Composition::new(sources_of_this_machine(), store);
    let descendants = if descendants {
        DescendantKeys::Revoke
    } else {
        DescendantKeys::Keep
    };
    let (slug, authority, selection) = if let Some(token) = token {
        let found = composition.credentials().find(&token.digest()).await?;
        let Credential {
            organization,
            api_key,
            ..
        } = found.ok_or(Failure::TokenUnknown)?;
        let ids = vec![api_key.id];
        let authority = Authority::of_administrator(organization.id);
        (
            organization.slug,
            authority,
            KeySelection::Keys { ids, descendants },
        )
    } else {
        let Organization { id, slug, .. } = chosen(&composition.accounts(), organization.as_ref()).await?;
        let authority = Authority::of_administrator(id);
        let selection = selected(&composition, &authority, &slug, which, descendants).await?;
        (slug, authority, selection)
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

fn token_on_standard_input() -> Result<Token, Failure> {
    let line = standard_input::piped_or_typed_line()?;
    Token::parse(line.expose()).map_err(Failure::NoToken)
}

/// The keys that the options name within an organization.
async fn selected(
    composition: &Composition,
    authority: &Authority,
    organization: &Slug,
    which: WhichKeys,
    descendants: DescendantKeys,
) -> Result<KeySelection, Failure> {
    if let Some(username) = which.username {
        let now = sources_of_this_machine().now();
        let members = composition.members();
        let member = members.find_to_end_access(authority, &username, now).await?;
        let member = member.ok_or_else(|| Failure::NotAMember {
            username,
            organization: organization.clone(),
        })?;
        return Ok(KeySelection::OfConsumer(member.membership.id));
    }
    if let Some(moment) = which.issued_before {
        return Ok(composition.organization_keys().issued_before(moment)?);
    }
    refuse_unknown(composition, authority, organization, &which.keys).await?;
    Ok(KeySelection::Keys {
        ids: which.keys,
        descendants,
    })
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
