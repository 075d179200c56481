//! Keys that were revoked in the last days because their tokens were reported as leaked.

use std::cmp::Reverse;

use keyward_domain::administration::ports::HeldKey;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::PageSize;
use keyward_domain::validity::End;

use crate::pages::list::List;
use crate::reader::{Member, Owner};
use crate::refusal::Refusal;

/// How many of them a notice names.
const NAMED: PageSize = PageSize::DEFAULT;

/// What a notice says of leaked keys.
pub(super) struct Leaks<K> {
    /// Those revoked last come first.
    pub(super) named: Vec<K>,
    /// Whether there are more leaked keys than those named.
    pub(super) has_others: bool,
}

impl<K> Leaks<K> {
    /// Makes the notice from the found keys: at most one more than it names.
    fn of(mut found: Vec<K>) -> Self {
        let has_others = found.len() > NAMED.items();
        found.truncate(NAMED.items());
        Self {
            named: found,
            has_others,
        }
    }
}

/// The viewer's own; only on the first page of an unsearched list.
pub(super) async fn of_member(member: &Member, list: &List<ApiKeyId>) -> Result<Leaks<ApiKey>, Refusal> {
    if !begins(list) {
        return Ok(Leaks::of(Vec::new()));
    }
    let keys = &member.console.keys;
    Ok(Leaks::of(keys.leaked(&member.holder(), NAMED, member.now).await?))
}

/// The leaked keys of the whole organization; only on the first page of an unsearched list.
pub(super) async fn of_organization(owner: &Owner, list: &List<ApiKeyId>) -> Result<Leaks<HeldKey>, Refusal> {
    if !begins(list) {
        return Ok(Leaks::of(Vec::new()));
    }
    let keys = &owner.console.organization_keys;
    let mut leaks = Leaks::of(keys.leaked(&owner.authority, NAMED, owner.now).await?);
    leaks.named.sort_by_key(|key| Reverse(key.end().map(End::at)));
    Ok(leaks)
}

fn begins(list: &List<ApiKeyId>) -> bool {
    list.search.is_empty() && list.after.is_none()
}
