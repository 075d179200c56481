//! The rows of the viewer's own keys.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, Origin, RevocationReason};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Slug;
use keyward_domain::page::Page;

use crate::pages::key_status::KeyListing;
use crate::pages::key_words::KeyWords;
use crate::pages::last_used::LastUsed;
use crate::pages::moment::Moment;
use crate::refusal::Refusal;
use crate::{Console, links};

/// A key in the table.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) words: KeyWords,
    pub(super) hint: String,
    pub(super) can_manage_keys: bool,
    pub(super) created: Moment,
    pub(super) created_by: Creator,
    pub(super) last_used: Option<LastUsed>,
    pub(super) revoked: Option<Revoked>,
    pub(super) edit: String,
    pub(super) revoke: String,
}

/// A key as another row names it.
#[derive(Clone)]
pub(super) struct NamedKey {
    pub(super) name: String,
    pub(super) hint: String,
}

/// Who created a key.
pub(super) enum Creator {
    /// In the console.
    Holder,
    Key(NamedKey),
    /// A key that is not kept any more.
    ForgottenKey,
}

pub(super) struct Revoked {
    pub(super) at: Moment,
    pub(super) by: Revoker,
    /// What they said.
    pub(super) note: Option<String>,
}

/// Who revoked a key, or why it was done.
pub(super) enum Revoker {
    Described(&'static str),
    /// An owner of the organization.
    Owner(OwnerWords),
    /// Another key of the same holder, through the API.
    Key(NamedKey),
}

/// What an owner is called.
#[derive(Clone)]
pub(super) struct OwnerWords {
    /// The name that people know them by.
    pub(super) name: String,
    /// The one that is theirs alone, if it is another.
    pub(super) username: Option<String>,
}

pub(super) async fn rows(
    console: &Console,
    holder: &Holder,
    slug: &Slug,
    listing: &KeyListing<'_>,
    page: Page<ApiKey, ApiKeyId>,
    now: DateTime<Utc>,
) -> Result<Vec<Row>, Refusal> {
    let mut known: HashMap<ApiKeyId, NamedKey> = page
        .items
        .iter()
        .map(|key| (key.id, NamedKey::from(key)))
        .collect();
    let parents = page.items.iter().filter_map(ApiKey::parent);
    let named: HashSet<ApiKeyId> = parents
        .chain(page.items.iter().filter_map(|key| revoking_key(key, now)))
        .collect();
    let elsewhere: Vec<ApiKeyId> = named.into_iter().filter(|id| !known.contains_key(id)).collect();
    // Most are on the same page.
    if !elsewhere.is_empty() {
        let found = console.keys.read_many(holder, &elsewhere).await?;
        known.extend(found.iter().map(|key| (key.id, NamedKey::from(key))));
    }
    let owners = revoking_owners(console, holder, &page.items, now).await?;
    let rows = page
        .items
        .iter()
        .map(|key| row(key, slug, listing, &known, &owners, now));
    Ok(rows.collect())
}

/// The same few queries for the whole page, and none if no owner revoked any.
async fn revoking_owners(
    console: &Console,
    holder: &Holder,
    keys: &[ApiKey],
    now: DateTime<Utc>,
) -> Result<HashMap<Subject, OwnerWords>, Refusal> {
    let owners: HashSet<Subject> = keys.iter().filter_map(|key| revoking_owner(key, now)).collect();
    if owners.is_empty() {
        return Ok(HashMap::new());
    }
    let owners: Vec<Subject> = owners.into_iter().collect();
    let organization = holder.organization_id();
    let names = console.names.find(organization, &owners).await?;
    let mut usernames = console.names.usernames(organization, &owners).await?;
    let words = names.into_iter().map(|(owner, name)| {
        let username = usernames.remove(&owner).map(|username| username.to_string());
        let username = username.filter(|username| *username != name);
        (owner, OwnerWords { name, username })
    });
    Ok(words.collect())
}

fn revoking_owner(key: &ApiKey, now: DateTime<Utc>) -> Option<Subject> {
    let revocation = key.revoked(now)?;
    match revocation.reason {
        RevocationReason::Owner => revocation.by.as_subject(),
        RevocationReason::Holder | RevocationReason::Leak | RevocationReason::Administrator => None,
    }
}

/// The key through which the holder revoked this one.
fn revoking_key(key: &ApiKey, now: DateTime<Utc>) -> Option<ApiKeyId> {
    match key.revoked(now)?.by {
        Actor::ApiKey(by) => Some(by),
        Actor::User(_) | Actor::Administrator | Actor::Retention | Actor::Anonymous => None,
    }
}

fn row(
    key: &ApiKey,
    slug: &Slug,
    listing: &KeyListing<'_>,
    known: &HashMap<ApiKeyId, NamedKey>,
    owners: &HashMap<Subject, OwnerWords>,
    now: DateTime<Utc>,
) -> Row {
    Row {
        name: key.name.to_string(),
        words: key.into(),
        hint: key.hint.to_string(),
        can_manage_keys: key.can_manage_keys,
        created: Moment(key.created_at),
        created_by: match key.origin {
            Origin::Console(_) => Creator::Holder,
            Origin::Key(parent) => known
                .get(&parent)
                .cloned()
                .map_or(Creator::ForgottenKey, Creator::Key),
        },
        last_used: key.last_use.map(LastUsed::from),
        revoked: key.revoked(now).map(|revocation| Revoked {
            at: Moment(revocation.end.at()),
            by: match (revocation.reason, revoking_key(key, now)) {
                (RevocationReason::Holder, Some(by)) if by == key.id => Revoker::Described("by itself"),
                (RevocationReason::Holder, Some(by)) => known
                    .get(&by)
                    .cloned()
                    .map_or(Revoker::Described("by one of your keys"), Revoker::Key),
                (RevocationReason::Holder, None) => Revoker::Described("by you"),
                (RevocationReason::Owner, _) => revoking_owner(key, now)
                    .and_then(|owner| owners.get(&owner).cloned())
                    .map_or(Revoker::Described("by an owner"), Revoker::Owner),
                (RevocationReason::Leak, _) => Revoker::Described("because its token leaked"),
                (RevocationReason::Administrator, _) => Revoker::Described("by an administrator"),
            },
            note: revocation.note.as_ref().map(ToString::to_string),
        }),
        edit: links::edit_api_key(slug, key.id),
        revoke: listing.address(&links::revoke_api_key(slug, key.id), listing.part.after),
    }
}

impl From<&ApiKey> for NamedKey {
    fn from(key: &ApiKey) -> Self {
        Self {
            name: key.name.to_string(),
            hint: key.hint.to_string(),
        }
    }
}
