//! The preview of what stops working when a membership ends.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::join3;
use keyward_domain::administration::ports::{HeldKey, LeavingPreview, MemberProfile, OpenInvitationCounts};
use keyward_domain::api_key::ApiKey;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::membership::Membership;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StorageError;
use poem::error::ResponseError;
use poem::http::StatusCode;

use crate::Console;
use crate::pages::organization_key_tab::{OrganizationKeyTab, keys_of};
use crate::paths;
use crate::reader::{Member, Owner};
use crate::refusal::Refusal;

/// The keys that are refused from then on, the projects that the member leaves, and how many of their invitations are
/// revoked. Counts that failed are absent, so that they do not keep anyone from ending a membership.
pub(super) struct MembershipEndPreview<Key> {
    pub(super) keys: Option<Keys<Key>>,
    pub(super) projects: Option<LeftProjects>,
    pub(super) invitations: Option<u64>,
    /// The number of invitations that others made. Their links stay valid, and the member may have seen them.
    pub(super) other_invitations: Option<u64>,
    /// The URL of the list of all keys.
    pub(super) all_keys: String,
}

/// The valid keys of the member.
pub(super) struct Keys<Key> {
    /// How many there are.
    pub(super) count: usize,
    /// How many of them were used in the last 7 days.
    pub(super) recently_used: u32,
    /// The most recently used keys. Key trees whose keys were used last come first.
    pub(super) shown: Vec<StoppingKey<Key>>,
    /// The number of these that are shown at first; the others are folded.
    in_sight: usize,
}

/// The projects that a member leaves.
#[derive(Default)]
pub(super) struct LeftProjects {
    /// The names of the newest.
    pub(super) first: Vec<String>,
    /// How many there are.
    pub(super) count: usize,
}

const RECENT: TimeDelta = TimeDelta::days(7);

/// The number of keys, or projects, that are shown at first.
const AT_A_GLANCE: usize = 25;

/// A valid key of the member.
pub(super) struct StoppingKey<Key> {
    pub(super) key: Key,
    /// The name and hint of the key that created it, if a key did.
    pub(super) parent: Option<(String, String)>,
    /// Whether it stands below its parent in the list.
    pub(super) is_descendant: bool,
}

/// A key as its holder sees it, or as owners do.
pub(super) trait ViewedKey: Clone {
    fn key(&self) -> &ApiKey;

    /// Without the address, whose type differs.
    fn last_used_at(&self) -> Option<DateTime<Utc>>;
}

impl ViewedKey for ApiKey {
    fn key(&self) -> &ApiKey {
        self
    }

    fn last_used_at(&self) -> Option<DateTime<Utc>> {
        self.last_use.map(|last| last.at)
    }
}

impl ViewedKey for HeldKey {
    fn key(&self) -> &ApiKey {
        self
    }

    fn last_used_at(&self) -> Option<DateTime<Utc>> {
        self.last_use.map(|last| last.at)
    }
}

impl MembershipEndPreview<ApiKey> {
    /// The preview for a member who leaves.
    pub(super) async fn on_leaving(member: &Member) -> Self {
        let all_keys = paths::ApiKeys(member.slug()).to_string();
        let keys = own_keys(member);
        Self::new(member, &member.member.membership, keys, all_keys).await
    }
}

impl MembershipEndPreview<HeldKey> {
    /// The preview for an owner who removes the member.
    pub(super) async fn on_removal(owner: &Owner, holder: &MemberProfile) -> Self {
        let all_keys = keys_of(owner.slug(), holder.membership.id, OrganizationKeyTab::Valid);
        let keys = held_keys(owner, holder);
        Self::new(owner, &holder.membership, keys, all_keys).await
    }
}

impl<Key> MembershipEndPreview<Key> {
    /// Counts in parallel, because each count may take until the store's deadline.
    async fn new(
        reader: &Member,
        membership: &Membership,
        keys: impl Future<Output = Result<Keys<Key>, Refusal>>,
        all_keys: String,
    ) -> Self {
        let (console, now) = (&reader.console, reader.now);
        let projects = projects(console, membership.id, now);
        let invitations = open_invitations(console, membership, now);
        let (keys, projects, invitations) = join3(keys, projects, invitations).await;
        let invitations = if_counted(invitations);
        Self {
            keys: if_counted(keys),
            projects: if_counted(projects),
            invitations: invitations.map(|open| open.by_user),
            other_invitations: invitations.map(|open| open.by_others),
            all_keys,
        }
    }
}

/// The result of a count before a change; `None` if counting failed, which does not prevent the change.
pub(super) fn if_counted<T>(count: Result<T, impl Into<Refusal>>) -> Option<T> {
    count
        .map_err(Into::into)
        .inspect_err(|refusal| match refusal.status() {
            StatusCode::SERVICE_UNAVAILABLE => {
                tracing::debug!(error = sentence(refusal), "preview failed");
            }
            _ => tracing::error!(error = sentence(refusal), "preview failed"),
        })
        .ok()
}

async fn own_keys(member: &Member) -> Result<Keys<ApiKey>, Refusal> {
    let (console, now) = (&member.console, member.now);
    let recent = now - RECENT;
    let preview = console
        .members
        .leaving_preview(&member.member, recent, now)
        .await?;
    let elsewhere = parents_elsewhere(&preview.first);
    let parents = if elsewhere.is_empty() {
        Vec::new()
    } else {
        console.keys.read_many(&member.holder(), &elsewhere).await?
    };
    Ok(Keys::new(preview, &parents, recent))
}

async fn held_keys(owner: &Owner, holder: &MemberProfile) -> Result<Keys<HeldKey>, Refusal> {
    let (console, authority, now) = (&owner.console, &owner.authority, owner.now);
    let recent = now - RECENT;
    let preview = console
        .members
        .removal_preview(authority, holder, recent, now)
        .await?;
    let elsewhere = parents_elsewhere(&preview.first);
    let parents = if elsewhere.is_empty() {
        Vec::new()
    } else {
        console.organization_keys.find_many(authority, &elsewhere).await?
    };
    Ok(Keys::new(preview, &parents, recent))
}

impl<Key: ViewedKey> Keys<Key> {
    fn new(preview: LeavingPreview<Key>, parents: &[Key], recent: DateTime<Utc>) -> Self {
        let LeavingPreview {
            keys: count,
            recently_used,
            first,
        } = preview;
        let shown = in_key_trees(first, parents);
        // All recently used keys are shown at first.
        let last = shown
            .iter()
            .rposition(|stopping| stopping.key.last_used_at() > Some(recent));
        Self {
            count: usize::try_from(count).unwrap_or(usize::MAX).max(shown.len()),
            recently_used,
            in_sight: last.map_or(AT_A_GLANCE, |last| AT_A_GLANCE.max(last + 1)),
            shown,
        }
    }
}

impl<Key> Keys<Key> {
    /// The keys that are shown at first.
    pub(super) fn first(&self) -> &[StoppingKey<Key>] {
        self.shown.get(..self.in_sight).unwrap_or(&self.shown)
    }

    /// The keys that are folded.
    pub(super) fn rest(&self) -> &[StoppingKey<Key>] {
        self.shown.get(self.in_sight..).unwrap_or_default()
    }
}

/// The parents that are not among these keys, because they are revoked or were not used as recently.
fn parents_elsewhere(keys: &[impl ViewedKey]) -> Vec<ApiKeyId> {
    let shown: HashSet<ApiKeyId> = keys.iter().map(|key| key.key().id).collect();
    let parents: HashSet<ApiKeyId> = keys
        .iter()
        .filter_map(|key| key.key().effective_parent())
        .collect();
    parents.difference(&shown).copied().collect()
}

/// How many invitations are revoked when the member is no owner any more, and how many are not.
pub(super) async fn open_invitations(
    console: &Console,
    membership: &Membership,
    now: DateTime<Utc>,
) -> Result<OpenInvitationCounts, StorageError> {
    let organization = membership.organization_id;
    console
        .invitations
        .count_open(organization, membership.user_id, now)
        .await
}

async fn projects(
    console: &Console,
    consumer: MembershipId,
    now: DateTime<Utc>,
) -> Result<LeftProjects, StorageError> {
    let projects = &console.reachable_projects;
    let page = PageRequest::first(PageSize::DEFAULT);
    let Page { items, next } = projects.list(consumer, page, now).await?;
    let count = match next {
        Some(_) => projects.count(consumer, now).await?,
        None => items.len() as u64,
    };
    let first = items.iter().take(AT_A_GLANCE);
    let first = first.map(|project| project.name.to_string());
    Ok(LeftProjects {
        first: first.collect(),
        count: usize::try_from(count).unwrap_or(usize::MAX),
    })
}

/// Sorts keys, each followed by its descendants: first the key trees that were used last, then those never used, the
/// newest first.
fn in_key_trees<Key: ViewedKey>(mut keys: Vec<Key>, parents_elsewhere: &[Key]) -> Vec<StoppingKey<Key>> {
    keys.sort_by_key(|key| Reverse(key.key().id));
    let known: HashMap<ApiKeyId, &Key> = keys
        .iter()
        .chain(parents_elsewhere)
        .map(|key| (key.key().id, key))
        .collect();
    let shown: HashSet<ApiKeyId> = keys.iter().map(|key| key.key().id).collect();
    let shown_parent = |key: &Key| key.key().effective_parent().filter(|above| shown.contains(above));
    let mut children: HashMap<ApiKeyId, Vec<&Key>> = HashMap::new();
    for key in &keys {
        if let Some(parent) = shown_parent(key) {
            children.entry(parent).or_default().push(key);
        }
    }
    // Newest first, so a key's own children are known before it.
    let mut last_uses: HashMap<ApiKeyId, Option<DateTime<Utc>>> = HashMap::new();
    for key in &keys {
        let id = key.key().id;
        let of_children = children.get(&id).into_iter().flatten();
        let of_children = of_children.filter_map(|child| last_uses.get(&child.key().id).copied().flatten());
        let last = of_children.chain(key.last_used_at()).max();
        last_uses.insert(id, last);
    }
    let last_in_tree = |key: &&Key| last_uses.get(&key.key().id).copied().flatten();
    for siblings in children.values_mut() {
        siblings.sort_by_key(|key| Reverse(last_in_tree(key)));
    }
    let mut key_trees = Vec::with_capacity(keys.len());
    let mut waiting: Vec<&Key> = keys.iter().filter(|key| shown_parent(key).is_none()).collect();
    waiting.sort_by_key(|key| Reverse(last_in_tree(key)));
    // `pop` takes the last one.
    waiting.reverse();
    while let Some(key) = waiting.pop() {
        let parent = key.key().effective_parent().and_then(|above| known.get(&above));
        let parent = parent.map(|parent| parent.key());
        key_trees.push(StoppingKey {
            key: key.clone(),
            parent: parent.map(|parent| (parent.name.to_string(), parent.hint.to_string())),
            is_descendant: shown_parent(key).is_some(),
        });
        waiting.extend(children.remove(&key.key().id).into_iter().flatten().rev());
    }
    key_trees
}
