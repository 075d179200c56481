//! Keys that were revoked in the last days because their tokens were reported as leaked.

use std::cmp::Reverse;
use std::collections::HashMap;

use keyward_domain::administration::ports::HeldKey;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::leaked_keys::NOTICE_PERIOD;
use keyward_domain::page::PageSize;

use crate::pages::list::List;
use crate::reader::{Member, Owner};
use crate::refusal::Refusal;

/// How many of them a notice names.
const NAMED: PageSize = PageSize::DEFAULT;

/// What a notice says of leaked keys.
pub(super) struct Leaks<K> {
    /// Those revoked last come first.
    pub(super) named: Vec<K>,
    /// How many there are in all, as far as they were counted.
    pub(super) count: usize,
    /// There may be more than were counted.
    pub(super) is_at_least: bool,
}

impl<K> Leaks<K> {
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0 && !self.is_at_least
    }

    pub(super) const fn is_one(&self) -> bool {
        self.count == 1 && !self.is_at_least
    }

    /// Whether there are others than those that are named.
    pub(super) const fn has_others(&self) -> bool {
        self.is_at_least || self.count > self.named.len()
    }

    const NONE: Self = Self {
        named: Vec::new(),
        count: 0,
        is_at_least: false,
    };
}

/// The viewer's own; only on the first page of an unsearched list.
pub(super) async fn of_member(member: &Member, list: &List<ApiKeyId>) -> Result<Leaks<ApiKey>, Refusal> {
    if !begins(list) {
        return Ok(Leaks::NONE);
    }
    let keys = &member.console.keys;
    let mut named = keys.leaked(&member.holder(), NAMED, member.now).await?;
    let is_at_least = named.len() > NAMED.items();
    named.truncate(NAMED.items());
    Ok(Leaks {
        count: named.len(),
        named,
        is_at_least,
    })
}

/// Those of the whole organization, likewise. Of each member, the keys revoked last are named first, so that one with
/// many leaked keys does not hide those of others.
pub(super) async fn of_organization(owner: &Owner, list: &List<ApiKeyId>) -> Result<Leaks<HeldKey>, Refusal> {
    if !begins(list) {
        return Ok(Leaks::NONE);
    }
    let organization = owner.member.organization.id;
    let leaks = owner.console.audit_trail.leaks(organization).await?;
    let keys = &owner.console.organization_keys;
    let mut leaked = if leaks.keys.is_empty() {
        Vec::new()
    } else {
        keys.find_many(&owner.authority, &leaks.keys).await?
    };
    leaked.retain(|key| key.leaked_since(owner.now - NOTICE_PERIOD));
    leaked.sort_by_key(revoked_last);
    let count = leaked.len();
    let mut of_each: HashMap<MembershipId, usize> = HashMap::new();
    let mut ranked: Vec<(usize, HeldKey)> = leaked
        .into_iter()
        .map(|key| {
            let earlier = of_each.entry(key.consumer_id).or_default();
            *earlier += 1;
            (*earlier, key)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(NAMED.items());
    let mut named: Vec<HeldKey> = ranked.into_iter().map(|(_, key)| key).collect();
    named.sort_by_key(revoked_last);
    Ok(Leaks {
        named,
        count,
        is_at_least: !leaks.is_complete,
    })
}

fn begins(list: &List<ApiKeyId>) -> bool {
    list.search.is_empty() && list.after.is_none()
}

fn revoked_last(key: &HeldKey) -> impl Ord + use<> {
    Reverse(key.end().map(|end| end.at()))
}
