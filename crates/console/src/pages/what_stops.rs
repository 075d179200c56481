//! What stops when a membership ends, told before it does.

use std::collections::{HashMap, HashSet};

use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, StatusFilter, StorageError};

use crate::Console;
use crate::pages::moment::Moment;

/// The keys that are refused from then on, and the projects that the member leaves.
pub(super) struct WhatStops {
    pub(super) keys: Vec<StoppingKey>,
    pub(super) projects: Vec<String>,
}

/// A valid key of the member.
pub(super) struct StoppingKey {
    pub(super) name: String,
    pub(super) hint: String,
    pub(super) created: Moment,
    /// The name and hint of the key that created it, if a key did.
    pub(super) parent: Option<(String, String)>,
    /// Whether it stands below its parent in the list.
    pub(super) is_descendant: bool,
}

impl WhatStops {
    pub(super) async fn with_membership(
        console: &Console,
        consumer: ConsumerId,
    ) -> Result<Self, StorageError> {
        let keys = valid_keys(console, consumer).await?;
        let revoked_parents = revoked_parents(console, consumer, &keys).await?;
        Ok(Self {
            keys: in_families(&keys, &revoked_parents),
            projects: projects(console, consumer).await?,
        })
    }
}

/// All of them, newest first: there are at most as many as the limit on keys allows.
async fn valid_keys(console: &Console, consumer: ConsumerId) -> Result<Vec<ApiKey>, StorageError> {
    let filter = KeyFilter::new(StatusFilter::Valid, None);
    let mut keys = Vec::new();
    let mut after = None;
    loop {
        let request = PageRequest {
            size: PageSize::DEFAULT,
            after,
        };
        let page = console.held_keys.list(consumer, filter.clone(), request).await?;
        keys.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(keys);
        }
    }
}

async fn revoked_parents(
    console: &Console,
    consumer: ConsumerId,
    keys: &[ApiKey],
) -> Result<Vec<ApiKey>, StorageError> {
    let valid: HashSet<ApiKeyId> = keys.iter().map(|key| key.id).collect();
    let parents: HashSet<ApiKeyId> = keys.iter().filter_map(ApiKey::parent).collect();
    let mut found = Vec::new();
    for parent in parents.difference(&valid) {
        found.extend(console.held_keys.find(consumer, *parent).await?);
    }
    Ok(found)
}

async fn projects(console: &Console, consumer: ConsumerId) -> Result<Vec<String>, StorageError> {
    let mut names = Vec::new();
    let mut after = None;
    loop {
        let request = PageRequest {
            size: PageSize::DEFAULT,
            after,
        };
        let page = console.reachable_projects.list(consumer, request).await?;
        names.extend(page.items.iter().map(|project| project.name.to_string()));
        after = page.next;
        if after.is_none() {
            return Ok(names);
        }
    }
}

/// Every key once: newest first, and below each the keys that were made from it.
fn in_families(keys: &[ApiKey], revoked_parents: &[ApiKey]) -> Vec<StoppingKey> {
    let known: HashMap<ApiKeyId, &ApiKey> = keys
        .iter()
        .chain(revoked_parents)
        .map(|key| (key.id, key))
        .collect();
    let valid: HashSet<ApiKeyId> = keys.iter().map(|key| key.id).collect();
    let valid_parent = |key: &ApiKey| key.parent().filter(|parent| valid.contains(parent));
    let mut children: HashMap<ApiKeyId, Vec<&ApiKey>> = HashMap::new();
    for key in keys {
        if let Some(parent) = valid_parent(key) {
            children.entry(parent).or_default().push(key);
        }
    }
    let mut families = Vec::with_capacity(keys.len());
    // The last of it comes next.
    let mut waiting: Vec<&ApiKey> = keys
        .iter()
        .rev()
        .filter(|key| valid_parent(key).is_none())
        .collect();
    while let Some(key) = waiting.pop() {
        let parent = key.parent().and_then(|parent| known.get(&parent));
        families.push(StoppingKey {
            name: key.name.to_string(),
            hint: key.hint.to_string(),
            created: Moment(key.created_at),
            parent: parent.map(|parent| (parent.name.to_string(), parent.hint.to_string())),
            is_descendant: valid_parent(key).is_some(),
        });
        waiting.extend(children.remove(&key.id).into_iter().flatten().rev());
    }
    families
}
