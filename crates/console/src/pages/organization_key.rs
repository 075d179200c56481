//! A member's key and its key tree, for owners: the keys it came from and those that came from it.

use std::collections::HashMap;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{HeldKey, KeyTree};
use keyward_domain::audit::Subject;
use keyward_domain::id::ApiKeyId;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::audit_log::events_about;
use crate::pages::filters;
use crate::pages::held_key::names_beside;
use crate::pages::list::List;
use crate::pages::organization_keys::{Asked, behind_revocation};
use crate::pages::revoke_keys::KEY;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "organization_key.html")]
struct OrganizationKeyPage<'a> {
    settings: Settings,
    /// The list that the page leads back to, as its own URL names it.
    list: List<ApiKeyId>,
    key: &'a HeldKey,
    /// The viewer holds it, so they can do more with it than revoke it.
    is_own: bool,
    /// A valid key takes its place.
    is_replaced: bool,
    /// The key tree as nested lists, one after the other.
    tree: Vec<Node<'a>>,
    /// Not all of the key tree is shown.
    has_more: bool,
    names: HashMap<Subject, String>,
    now: DateTime<Utc>,
}

/// A key in the tree.
struct Node<'a> {
    key: &'a HeldKey,
    /// It is the one that the page is about.
    is_this_key: bool,
    /// The key that created it is not kept any more.
    has_deleted_parent: bool,
    /// A list of its children follows.
    has_children: bool,
    /// The number of nested lists that end after it.
    ends: usize,
}

#[handler]
pub(crate) async fn show(
    owner: Owner,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let list = Asked::read(&owner, &query)?.list;
    let key_tree = owner
        .console
        .organization_keys
        .key_tree(&owner.authority, id, owner.now);
    let KeyTree { keys, has_more } = key_tree.await?;
    let key = keys.iter().find(|key| key.id == id).ok_or(Refusal::NotFound)?;
    owner.page(&OrganizationKeyPage {
        settings: Settings::new(&owner, Section::ApiKeys),
        list,
        key,
        is_own: key.holder.membership.id == owner.member.membership.id,
        is_replaced: is_replaced(key, &owner).await?,
        tree: tree(&keys, id),
        has_more,
        names: names_beside(&keys, &owner).await?,
        now: owner.now,
    })
}

async fn is_replaced(key: &HeldKey, owner: &Owner) -> Result<bool, Refusal> {
    let Some(successor) = key.rotated_to else {
        return Ok(false);
    };
    let keys = &owner.console.organization_keys;
    let successor = keys.find(&owner.authority, successor).await?;
    Ok(successor.is_some_and(|successor| successor.is_valid(owner.now)))
}

impl OrganizationKeyPage<'_> {
    fn events(&self) -> String {
        events_about(Subject::ApiKey(self.key.id), &self.settings.slug)
    }

    /// The page that revokes this key.
    fn revocation(&self) -> String {
        let url =
            behind_revocation(&self.list).with_return(paths::RevokeOrganizationKeys(&self.settings.slug));
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}{KEY}{}=on", self.key.id)
    }
}

/// The key tree from the top down; keys come by rising identifier, so each after the one that it is below.
fn tree(key_tree: &[HeldKey], this_key: ApiKeyId) -> Vec<Node<'_>> {
    let known: HashMap<ApiKeyId, &HeldKey> = key_tree.iter().map(|key| (key.id, key)).collect();
    let mut children: HashMap<ApiKeyId, Vec<&HeldKey>> = HashMap::new();
    let mut waiting: Vec<(&HeldKey, usize)> = Vec::new();
    for key in key_tree.iter().rev() {
        match key.effective_parent().filter(|above| known.contains_key(above)) {
            Some(above) => children.entry(above).or_default().push(key),
            None => waiting.push((key, 0)),
        }
    }
    let mut nodes: Vec<(Node<'_>, usize)> = Vec::new();
    while let Some((key, depth)) = waiting.pop() {
        let below = children.remove(&key.id).unwrap_or_default();
        let node = Node {
            key,
            is_this_key: key.id == this_key,
            has_deleted_parent: key.effective_parent() != key.parent() && key.rotated_from.is_none(),
            has_children: !below.is_empty(),
            ends: 0,
        };
        nodes.push((node, depth));
        waiting.extend(below.into_iter().map(|child| (child, depth + 1)));
    }
    let depths: Vec<usize> = nodes.iter().map(|(_, depth)| *depth).collect();
    let following = depths.into_iter().skip(1).chain([0]);
    nodes
        .into_iter()
        .zip(following)
        .map(|((node, depth), next)| Node {
            ends: depth.saturating_sub(next),
            ..node
        })
        .collect()
}
