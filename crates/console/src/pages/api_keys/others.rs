//! The keys and owners that are shown beside the viewer's own keys: keys that created, revoked or replaced
//! them, those that they replace, and the owners who revoked them.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::Named;
use keyward_domain::api_key::{ApiKey, Origin, Revocation, RevocationReason};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::id::ApiKeyId;
use keyward_domain::token::TokenHint;
use keyward_domain::user::Username;

use crate::reader::Member;
use crate::refusal::Refusal;

/// The names of other users and keys.
pub(in crate::pages) struct Others {
    keys: HashMap<ApiKeyId, NamedKey>,
    owners: HashMap<Subject, Person>,
}

/// A key as another row names it.
pub(in crate::pages) struct NamedKey {
    pub(in crate::pages) name: String,
    pub(in crate::pages) hint: TokenHint,
    is_valid: bool,
}

/// The name of an owner.
pub(in crate::pages) struct Person {
    /// The name that people know them by.
    pub(in crate::pages) name: String,
    /// The one that is theirs alone, if it is another.
    pub(in crate::pages) username: Option<Username>,
}

/// Who created a key.
pub(in crate::pages) enum Creator<'a> {
    /// The holder created it in the console.
    Holder,
    Key(&'a NamedKey),
    /// A key that is not kept any more.
    ForgottenKey,
}

/// Who revoked a key, or why it was done.
pub(in crate::pages) enum Revoker<'a> {
    Described(&'static str),
    /// An owner of the organization.
    Owner(&'a Person),
    /// Another key of the same holder, through the API.
    Key(&'a NamedKey),
}

impl Others {
    /// A fixed number of queries for the whole page.
    pub(in crate::pages) async fn beside(keys: &[ApiKey], member: &Member) -> Result<Self, Refusal> {
        let named = |key: &ApiKey| named(key, member.now);
        let mut known: HashMap<ApiKeyId, NamedKey> = keys.iter().map(named).collect();
        let parents = keys.iter().filter_map(ApiKey::parent);
        let revokers = keys
            .iter()
            .filter_map(|key| revoking_key(key.revoked(member.now)?));
        let rotated = keys.iter().flat_map(|key| [key.rotated_from, key.rotated_to]);
        let named_keys: HashSet<ApiKeyId> = parents.chain(revokers).chain(rotated.flatten()).collect();
        let elsewhere = named_keys.into_iter().filter(|id| !known.contains_key(id));
        let elsewhere: Vec<ApiKeyId> = elsewhere.collect();
        if !elsewhere.is_empty() {
            let found = member
                .console
                .keys
                .read_many(&member.holder(), &elsewhere)
                .await?;
            known.extend(found.iter().map(named));
        }
        Ok(Self {
            keys: known,
            owners: revoking_owners(keys, member).await?,
        })
    }

    pub(in crate::pages) fn creator(&self, key: &ApiKey) -> Creator<'_> {
        match key.origin {
            Origin::Console(_) => Creator::Holder,
            Origin::Key(parent) => self.keys.get(&parent).map_or(Creator::ForgottenKey, Creator::Key),
        }
    }

    /// The key that takes the place of this one, while it is valid.
    pub(in crate::pages) fn live_successor(&self, key: &ApiKey) -> Option<&NamedKey> {
        self.keys.get(&key.rotated_to?).filter(|key| key.is_valid)
    }

    /// The key whose place this one took.
    pub(in crate::pages) fn predecessor(&self, key: &ApiKey) -> Option<&NamedKey> {
        self.keys.get(&key.rotated_from?)
    }

    pub(in crate::pages) fn revoker(&self, key: &ApiKey, revocation: &Revocation) -> Revoker<'_> {
        match (revocation.reason, revoking_key(revocation)) {
            (RevocationReason::Holder, Some(by)) if by == key.id => Revoker::Described("by itself"),
            (RevocationReason::Holder, Some(by)) => {
                let by = self.keys.get(&by);
                by.map_or(Revoker::Described("by one of your keys"), Revoker::Key)
            }
            (RevocationReason::Holder, None) => Revoker::Described("by you"),
            (RevocationReason::Owner, _) => {
                let owner = revocation.by.as_subject().and_then(|by| self.owners.get(&by));
                owner.map_or(Revoker::Described("by an owner"), Revoker::Owner)
            }
            (RevocationReason::Leak, _) => Revoker::Described("because its token leaked"),
            (RevocationReason::Administrator, _) => Revoker::Described("by an administrator"),
            (RevocationReason::Expired, _) => Revoker::Described("as planned"),
            (RevocationReason::Rotation, _) => Revoker::Described("and replaced by another key"),
            (RevocationReason::Other(_), _) => Revoker::Described("for another reason"),
        }
    }
}

async fn revoking_owners(keys: &[ApiKey], member: &Member) -> Result<HashMap<Subject, Person>, Refusal> {
    let owners = keys.iter().filter_map(|key| revoking_owner(key, member.now));
    let owners: HashSet<Subject> = owners.collect();
    if owners.is_empty() {
        return Ok(HashMap::new());
    }
    let owners: Vec<Subject> = owners.into_iter().collect();
    let organization = member.member.organization.id;
    let named = member.console.names.identify(organization, &owners).await?;
    let people = named.into_iter().map(|(owner, Named { name, username, .. })| {
        let username = username.filter(|username| username.as_str() != name);
        (owner, Person { name, username })
    });
    Ok(people.collect())
}

fn revoking_owner(key: &ApiKey, now: DateTime<Utc>) -> Option<Subject> {
    let revocation = key.revoked(now)?;
    match revocation.reason {
        RevocationReason::Owner => revocation.by.as_subject(),
        RevocationReason::Holder
        | RevocationReason::Leak
        | RevocationReason::Administrator
        | RevocationReason::Expired
        | RevocationReason::Rotation
        | RevocationReason::Other(_) => None,
    }
}

/// The key through which the holder revoked another.
const fn revoking_key(revocation: &Revocation) -> Option<ApiKeyId> {
    match revocation.by {
        Actor::ApiKey(by) => Some(by),
        Actor::User(_) | Actor::Administrator | Actor::System | Actor::Anonymous => None,
    }
}

fn named(key: &ApiKey, now: DateTime<Utc>) -> (ApiKeyId, NamedKey) {
    let named = NamedKey {
        name: key.name.to_string(),
        hint: key.hint.clone(),
        is_valid: key.is_valid(now),
    };
    (key.id, named)
}
