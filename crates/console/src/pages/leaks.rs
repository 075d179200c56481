//! Keys that were revoked in the last days because their tokens were reported as leaked.

use std::cmp::Reverse;

use keyward_domain::administration::ports::HeldKey;
use keyward_domain::api_key::{ApiKey, RevocationReason};
use keyward_domain::audit::Subject;
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::PageSize;

use crate::pages::list::List;
use crate::reader::{Member, Owner};
use crate::refusal::Refusal;

/// The viewer's own, the latest first; only on the first page of an unsearched list.
pub(super) async fn of_member(member: &Member, list: &List<ApiKeyId>) -> Result<Vec<ApiKey>, Refusal> {
    let leaked = leaked(member, list).await?;
    if leaked.is_empty() {
        return Ok(Vec::new());
    }
    let keys = &member.console.keys;
    let mut own = keys.read_many(&member.holder(), &leaked).await?;
    own.retain(is_leaked);
    own.sort_by_key(|key| Reverse(key.end().map(|end| end.at())));
    Ok(own)
}

/// Those of the whole organization, likewise; only the latest of many.
pub(super) async fn of_organization(owner: &Owner, list: &List<ApiKeyId>) -> Result<Vec<HeldKey>, Refusal> {
    let mut leaked = leaked(owner, list).await?;
    leaked.truncate(PageSize::DEFAULT.items());
    if leaked.is_empty() {
        return Ok(Vec::new());
    }
    let keys = &owner.console.organization_keys;
    let mut held = keys.find_many(&owner.authority, &leaked).await?;
    held.retain(|key| is_leaked(key));
    held.sort_by_key(|key| Reverse(key.end().map(|end| end.at())));
    Ok(held)
}

async fn leaked(member: &Member, list: &List<ApiKeyId>) -> Result<Vec<ApiKeyId>, Refusal> {
    if !list.search.is_empty() || list.after.is_some() {
        return Ok(Vec::new());
    }
    let leaks = member
        .console
        .audit_trail
        .leaks(member.member.organization.id)
        .await?;
    let key = |subject| match subject {
        Subject::ApiKey(id) => Some(id),
        _ => None,
    };
    Ok(leaks.into_iter().filter_map(|leak| key(leak.subject)).collect())
}

fn is_leaked(key: &ApiKey) -> bool {
    let revocation = key.revocation.as_ref();
    revocation.is_some_and(|revocation| revocation.reason == RevocationReason::Leak)
}
