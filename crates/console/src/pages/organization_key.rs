//! A member's key and its family, for owners: the keys it came from and those that came from it.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{HeldKey, KeyFamily};
use keyward_domain::audit::Subject;
use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Slug;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::pages::held_key::{KeyRow, others_in};
use crate::pages::html;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::viewer::Owner;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "organization_key.html")]
struct OrganizationKeyPage {
    settings: Settings,
    list: String,
    revoke: String,
    key: KeyRow,
    /// The family as nested lists, one after the other.
    tree: Vec<Node>,
    /// Not all of the family is shown.
    has_more: bool,
}

/// A key in the tree.
struct Node {
    row: KeyRow,
    /// It is the one that the page is about.
    is_asked_for: bool,
    /// The key that made it is not kept any more.
    is_adopted: bool,
    /// A list of its children follows.
    has_children: bool,
    /// So many lists end after it.
    ends: usize,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<ApiKeyId>,
) -> Result<Response, Refusal> {
    let KeyFamily { keys, has_more } = console
        .organization_keys
        .family(&authority, id, insider.now)
        .await?;
    let (slug, now) = (&insider.member.organization.slug, insider.now);
    let names = console
        .names
        .find(authority.organization_id(), &others_in(&keys, now))
        .await?;
    let key = keys.iter().find(|key| key.id == id).ok_or(Refusal::NotFound)?;
    let page = OrganizationKeyPage {
        settings: Settings::new(&insider, Section::ApiKeys),
        list: links::organization_keys(slug),
        revoke: links::revoke_organization_keys(slug),
        key: KeyRow::new(key, slug, &names, now),
        tree: tree(&keys, id, slug, &names, now),
        has_more,
    };
    html(StatusCode::OK, &page)
}

/// The family from the top down; keys come by rising identifier, so each after the one that it is below.
fn tree(
    family: &[HeldKey],
    asked_for: ApiKeyId,
    slug: &Slug,
    names: &HashMap<Subject, String>,
    now: DateTime<Utc>,
) -> Vec<Node> {
    let known: HashMap<ApiKeyId, &HeldKey> = family.iter().map(|key| (key.id, key)).collect();
    let mut children: HashMap<ApiKeyId, Vec<&HeldKey>> = HashMap::new();
    let mut waiting: Vec<(&HeldKey, usize)> = Vec::new();
    for key in family.iter().rev() {
        match key.next_above.filter(|above| known.contains_key(above)) {
            Some(above) => children.entry(above).or_default().push(key),
            None => waiting.push((key, 0)),
        }
    }
    let mut nodes: Vec<(Node, usize)> = Vec::new();
    while let Some((key, depth)) = waiting.pop() {
        let below = children.remove(&key.id).unwrap_or_default();
        let node = Node {
            row: KeyRow::new(key, slug, names, now),
            is_asked_for: key.id == asked_for,
            is_adopted: key.next_above != key.parent(),
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
