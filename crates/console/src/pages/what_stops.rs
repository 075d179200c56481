//! What stops when a membership ends, told before it does.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{HeldKey, OrganizationKeyFilter};
use keyward_domain::api_key::ApiKey;
use keyward_domain::holder::Holder;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::membership::{Member, Membership};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, StatusFilter, StorageError};

use crate::Console;
use crate::pages::last_used::LastUsed;
use crate::pages::moment::Moment;
use crate::refusal::Refusal;

/// The keys that are refused from then on, the projects that the member leaves, and how many of their invitations are
/// taken back.
pub(super) struct WhatStops {
    /// Families whose keys were used last come first.
    pub(super) keys: Vec<StoppingKey>,
    /// How many of the keys were used in the last [`LATELY`] days.
    pub(super) used_lately: usize,
    /// How many of the keys are in sight; the others are unfolded.
    in_sight: usize,
    pub(super) projects: LeftProjects,
    pub(super) invitations: u64,
}

/// The projects that a member leaves.
#[derive(Default)]
pub(super) struct LeftProjects {
    /// The names of the newest.
    pub(super) first: Vec<String>,
    /// How many there are.
    pub(super) count: usize,
}

/// How many days ago is lately.
const LATELY: u16 = 7;

/// So many keys, or projects, are looked over at a glance.
const AT_A_GLANCE: usize = 25;

/// A valid key of the member.
pub(super) struct StoppingKey {
    pub(super) name: String,
    pub(super) hint: String,
    pub(super) created: Moment,
    pub(super) last_used: Option<LastUsed>,
    /// The name and hint of the key that created it, if a key did.
    pub(super) parent: Option<(String, String)>,
    /// Whether it stands below its parent in the list.
    pub(super) is_descendant: bool,
}

/// A key of the member, as far as whoever asks may see it.
struct SeenKey {
    id: ApiKeyId,
    name: String,
    hint: String,
    created: Moment,
    last_used: Option<LastUsed>,
    /// Its parent, or whoever took its place.
    above: Option<ApiKeyId>,
}

impl WhatStops {
    /// As the member who leaves sees it.
    pub(super) async fn on_leaving(console: &Console, member: &Member) -> Result<Self, Refusal> {
        let holder = &member.as_holder();
        let keys = own_valid_keys(console, holder).await?;
        let elsewhere = parents_elsewhere(&keys);
        let revoked_parents = if elsewhere.is_empty() {
            Vec::new()
        } else {
            console.keys.read_many(holder, &elsewhere).await?
        };
        let revoked_parents: Vec<SeenKey> = revoked_parents.into_iter().map(SeenKey::from).collect();
        let projects = projects(console, holder.consumer().id).await?;
        let invitations = open_invitations(console, &member.membership).await?;
        Ok(Self::new(console, &keys, &revoked_parents, projects, invitations))
    }

    /// As an owner who removes the member sees it.
    pub(super) async fn on_removal(
        console: &Console,
        authority: &Authority,
        membership: &Membership,
    ) -> Result<Self, StorageError> {
        let consumer = membership.id;
        let keys = members_valid_keys(console, authority, consumer).await?;
        let elsewhere = parents_elsewhere(&keys);
        let revoked_parents = if elsewhere.is_empty() {
            Vec::new()
        } else {
            console.organization_keys.find_many(authority, &elsewhere).await?
        };
        let revoked_parents: Vec<SeenKey> = revoked_parents.into_iter().map(SeenKey::from).collect();
        let projects = projects(console, consumer).await?;
        let invitations = open_invitations(console, membership).await?;
        Ok(Self::new(console, &keys, &revoked_parents, projects, invitations))
    }

    fn new(
        console: &Console,
        keys: &[SeenKey],
        revoked_parents: &[SeenKey],
        projects: LeftProjects,
        invitations: u64,
    ) -> Self {
        let lately = console.organization_keys.days_ago(LATELY);
        let used_lately = keys.iter().filter(|key| key.last_use() > Some(lately));
        let used_lately = used_lately.count();
        let keys = in_families(keys, revoked_parents);
        // Whatever was used lately is in sight.
        let last = keys
            .iter()
            .rposition(|key| key.last_used.as_ref().map(|used| used.at.0) > Some(lately));
        Self {
            in_sight: last.map_or(AT_A_GLANCE, |last| AT_A_GLANCE.max(last + 1)),
            used_lately,
            keys,
            projects,
            invitations,
        }
    }

    /// The keys that are in sight.
    pub(super) fn first(&self) -> &[StoppingKey] {
        self.keys.get(..self.in_sight).unwrap_or(&self.keys)
    }

    /// The others.
    pub(super) fn rest(&self) -> &[StoppingKey] {
        self.keys.get(self.in_sight..).unwrap_or_default()
    }
}

/// All of them, newest first: there are at most as many as the limit on keys allows.
async fn own_valid_keys(console: &Console, holder: &Holder) -> Result<Vec<SeenKey>, Refusal> {
    let filter = KeyFilter::new(StatusFilter::Valid, None);
    let mut keys = Vec::new();
    let page = |request| console.keys.list(holder, filter.clone(), request);
    all_pages(page, |some| keys.extend(some.into_iter().map(SeenKey::from))).await?;
    Ok(keys)
}

/// The same, of anybody in the organization.
async fn members_valid_keys(
    console: &Console,
    authority: &Authority,
    consumer: ConsumerId,
) -> Result<Vec<SeenKey>, StorageError> {
    let filter = OrganizationKeyFilter::new(StatusFilter::Valid, None).of_consumer(consumer);
    let mut keys = Vec::new();
    let page = |request| console.organization_keys.list(authority, filter.clone(), request);
    all_pages(page, |some| keys.extend(some.into_iter().map(SeenKey::from))).await?;
    Ok(keys)
}

/// The keys that created some of these and are not among them, because they are revoked.
fn parents_elsewhere(keys: &[SeenKey]) -> Vec<ApiKeyId> {
    let valid: HashSet<ApiKeyId> = keys.iter().map(|key| key.id).collect();
    let parents: HashSet<ApiKeyId> = keys.iter().filter_map(|key| key.above).collect();
    parents.difference(&valid).copied().collect()
}

/// How many invitations are taken back when the member is no owner any more.
pub(super) async fn open_invitations(
    console: &Console,
    membership: &Membership,
) -> Result<u64, StorageError> {
    let organization = membership.organization_id;
    console
        .invitations
        .count_open(organization, membership.user_id)
        .await
}

async fn projects(console: &Console, consumer: ConsumerId) -> Result<LeftProjects, StorageError> {
    let mut projects = LeftProjects::default();
    let page = |request| console.reachable_projects.list(consumer, request);
    all_pages(page, |some| {
        projects.count += some.len();
        let room = AT_A_GLANCE.saturating_sub(projects.first.len());
        let names = some.iter().map(|project| project.name.to_string());
        projects.first.extend(names.take(room));
    })
    .await?;
    Ok(projects)
}

/// Reads a list to its end.
async fn all_pages<T, Id, E, Answer>(
    mut page: impl FnMut(PageRequest<Id>) -> Answer,
    mut take: impl FnMut(Vec<T>),
) -> Result<(), E>
where
    Answer: Future<Output = Result<Page<T, Id>, E>>,
{
    let mut after = None;
    loop {
        let size = PageSize::EXPORT;
        let Page { items, next } = page(PageRequest { size, after }).await?;
        take(items);
        if next.is_none() {
            return Ok(());
        }
        after = next;
    }
}

impl SeenKey {
    fn last_use(&self) -> Option<DateTime<Utc>> {
        self.last_used.as_ref().map(|last| last.at.0)
    }
}

/// Every key once, and below each the keys that were made from it. What was used last comes first, with its family, and
/// what was never used last, the newest first.
fn in_families(keys: &[SeenKey], revoked_parents: &[SeenKey]) -> Vec<StoppingKey> {
    let known: HashMap<ApiKeyId, &SeenKey> = keys
        .iter()
        .chain(revoked_parents)
        .map(|key| (key.id, key))
        .collect();
    let valid: HashSet<ApiKeyId> = keys.iter().map(|key| key.id).collect();
    let valid_parent = |key: &SeenKey| key.above.filter(|above| valid.contains(above));
    let mut children: HashMap<ApiKeyId, Vec<&SeenKey>> = HashMap::new();
    for key in keys {
        if let Some(parent) = valid_parent(key) {
            children.entry(parent).or_default().push(key);
        }
    }
    // Newest first, so a key's own children are known before it.
    let mut last_uses: HashMap<ApiKeyId, Option<DateTime<Utc>>> = HashMap::new();
    for key in keys {
        let of_children = children.get(&key.id).into_iter().flatten();
        let of_children = of_children.filter_map(|child| last_uses.get(&child.id).copied().flatten());
        let last = of_children.chain(key.last_use()).max();
        last_uses.insert(key.id, last);
    }
    let last_in_family = |key: &&SeenKey| last_uses.get(&key.id).copied().flatten();
    for siblings in children.values_mut() {
        siblings.sort_by_key(|key| Reverse(last_in_family(key)));
    }
    let mut families = Vec::with_capacity(keys.len());
    let mut waiting: Vec<&SeenKey> = keys.iter().filter(|key| valid_parent(key).is_none()).collect();
    waiting.sort_by_key(|key| Reverse(last_in_family(key)));
    // The last of it comes next.
    waiting.reverse();
    while let Some(key) = waiting.pop() {
        let parent = key.above.and_then(|above| known.get(&above));
        families.push(StoppingKey {
            name: key.name.clone(),
            hint: key.hint.clone(),
            created: key.created,
            last_used: key.last_used.clone(),
            parent: parent.map(|parent| (parent.name.clone(), parent.hint.clone())),
            is_descendant: valid_parent(key).is_some(),
        });
        waiting.extend(children.remove(&key.id).into_iter().flatten().rev());
    }
    families
}

impl From<ApiKey> for SeenKey {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name.to_string(),
            hint: key.hint.to_string(),
            created: Moment(key.created_at),
            last_used: key.last_use.map(LastUsed::from),
            above: key.next_above(),
        }
    }
}

impl From<HeldKey> for SeenKey {
    fn from(key: HeldKey) -> Self {
        Self {
            id: key.id,
            name: key.name.to_string(),
            hint: key.hint.to_string(),
            created: Moment(key.created_at),
            last_used: key.last_use.map(LastUsed::from),
            above: key.next_above,
        }
    }
}
