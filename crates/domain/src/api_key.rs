//! The personal key: an API key of one consumer, and the only key type.

pub(crate) mod filter;
pub(crate) mod limits;
pub(crate) mod new_api_key;
mod version;

use std::net::IpAddr;

use chrono::{DateTime, Utc};

use crate::audit::{Act, Action, Actor, AuditEvent, Subject};
use crate::id::{ApiKeyId, ConsumerId, OrganizationId, UserId};
use crate::text::{folded, text_type};
use crate::token::TokenHint;
use crate::validity::{End, is_over};
use crate::words::words;

pub use version::{InvalidKeyVersion, KeyPrecondition, KeyVersion};

/// A personal key, without its token: that is shown once and never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its public identifier.
    pub id: ApiKeyId,
    /// Whose key it is.
    pub consumer_id: ConsumerId,
    /// What people recognize its token by.
    pub hint: TokenHint,
    /// Its name, given by the holder; not unique.
    pub name: KeyName,
    /// What it is for, in the holder's words.
    pub description: KeyDescription,
    /// How it came to be.
    pub origin: Origin,
    /// The nearest of the keys that it came from which is kept, once its parent is not (see
    /// [`retention`](crate::retention)); none if none of them is.
    pub adopted_by: Option<ApiKeyId>,
    /// Whether it may create keys, and see and change the other keys of its consumer. It never changes.
    pub can_manage_keys: bool,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Its revocation, which may lie ahead: see [`ApiKey::revoked`].
    pub revocation: Option<Revocation>,
    /// Its last use, if it was ever used. It may be up to a minute behind.
    pub last_use: Option<LastUse>,
}

impl ApiKey {
    /// The most valid keys that may be in one line, each made by the one before it, directly or through keys that are
    /// revoked by now.
    pub const MAX_LINE: u32 = 32;

    /// A new key, as its holder wants it. Where the holder says nothing of its rights, it has all.
    #[must_use]
    pub fn new(
        id: ApiKeyId,
        consumer_id: ConsumerId,
        origin: Origin,
        draft: KeyDraft,
        hint: TokenHint,
        created_at: DateTime<Utc>,
    ) -> Self {
        Self {
            id,
            consumer_id,
            hint,
            name: draft.name,
            description: draft.description,
            origin,
            adopted_by: None,
            can_manage_keys: draft.can_manage_keys.unwrap_or(true),
            created_at,
            revocation: None,
            last_use: None,
        }
    }

    /// What it is at a moment: valid until revoked. Whether it gives access also depends on its consumer: see
    /// [`Credential::is_accepted`](crate::access::Credential::is_accepted).
    #[must_use]
    pub fn state(&self, now: DateTime<Utc>) -> KeyState {
        match self.revoked(now) {
            None => KeyState::Valid,
            Some(revocation) => KeyState::Revoked {
                at: revocation.end.at(),
                by: revocation.by,
                reason: revocation.reason,
            },
        }
    }

    /// Whether the key is not revoked at this moment.
    #[must_use]
    pub fn is_valid(&self, now: DateTime<Utc>) -> bool {
        !is_over(self.end(), now)
    }

    /// Its revocation, if that has come by this moment.
    #[must_use]
    pub fn revoked(&self, now: DateTime<Utc>) -> Option<&Revocation> {
        self.revocation
            .as_ref()
            .filter(|revocation| revocation.end.has_come(now))
    }

    /// The end of its validity, if it has one.
    #[must_use]
    pub fn end(&self) -> Option<End> {
        self.revocation.as_ref().map(|revocation| revocation.end)
    }

    /// The key that created this one, if a key did.
    #[must_use]
    pub const fn parent(&self) -> Option<ApiKeyId> {
        match self.origin {
            Origin::Console(_) => None,
            Origin::Key(parent) => Some(parent),
        }
    }

    /// The parent in the key tree: the key that created this one or, if that was purged, the nearest ancestor that is
    /// still stored.
    #[must_use]
    pub fn next_above(&self) -> Option<ApiKeyId> {
        self.adopted_by.or_else(|| self.parent())
    }

    /// From when on the key gives nobody access: when somebody revoked it; else when the first of these comes that has
    /// an end, itself and the membership that it acts as.
    #[must_use]
    pub fn dead_since(&self, membership: Option<End>) -> Option<DateTime<Utc>> {
        let membership = membership.map(End::at);
        match self.end() {
            Some(End::Come(at)) => Some(at),
            Some(End::Planned(at)) => Some(membership.map_or(at, |ended_at| ended_at.min(at))),
            None => membership,
        }
    }

    /// What a search compares with its term: name, description and the last four characters, folded.
    #[must_use]
    pub fn search_text(&self) -> String {
        folded(&format!(
            "{}\n{}\n{}",
            self.name,
            self.description,
            self.hint.last_four()
        ))
    }

    /// What people may change, as texts: what a [version](Self::version) stands for.
    fn changeable(&self) -> [&str; 2] {
        [self.name.as_str(), self.description.as_str()]
    }

    /// Applies an edit; says whether anything changed, which is if the [version](Self::version) did.
    pub fn apply(&mut self, edit: &KeyEdit) -> bool {
        let before = self.version();
        if let Some(name) = &edit.name {
            self.name = name.clone();
        }
        if let Some(description) = &edit.description {
            self.description = description.clone();
        }
        before != self.version()
    }
}

impl Act {
    /// The event that tells of a new key, and whether it may manage keys.
    #[must_use]
    pub fn creation_of_key(&self, key: &ApiKey) -> AuditEvent {
        let action = if key.can_manage_keys {
            Action::CreateApiKey
        } else {
            Action::CreateRestrictedApiKey
        };
        self.event(action, Subject::ApiKey(key.id))
    }

    /// The event that tells that the planned end of an organization's key has come. It is the system's, whoever notices.
    #[must_use]
    pub fn planned_end_of_key(&self, organization: OrganizationId, id: ApiKeyId) -> AuditEvent {
        self.of_system(organization)
            .event(Action::ExpireApiKey, Subject::ApiKey(id))
    }
}

text_type! {
    /// A key's name: one line of 1 to 100 code points.
    KeyName, max 100, OneLine
}

text_type! {
    /// A key's description: up to 500 code points, line feeds allowed; empty if none was given.
    KeyDescription, max 500, Lines
}

impl Default for KeyDescription {
    /// Nothing was said.
    fn default() -> Self {
        Self(String::new())
    }
}

/// What a holder says about the key they want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDraft {
    /// As its holder calls it; names need not be unique.
    pub name: KeyName,
    /// What it is for.
    pub description: KeyDescription,
    /// Whether it may manage keys; if absent, as the organization has chosen for new keys.
    pub can_manage_keys: Option<bool>,
}

impl KeyDraft {
    /// A key of which nothing is said but its name.
    #[must_use]
    pub fn named(name: KeyName) -> Self {
        Self {
            name,
            description: KeyDescription::default(),
            can_manage_keys: None,
        }
    }
}

/// What to change on a key. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyEdit {
    /// The new name.
    pub name: Option<KeyName>,
    /// The new description.
    pub description: Option<KeyDescription>,
}

/// The two ways a key can come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A person created it, signed in to the console. A consumer's first key can come from nowhere else.
    Console(UserId),
    /// An existing valid key of the same consumer created it through the API: its parent.
    Key(ApiKeyId),
}

/// What a key is, computed from the facts about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// It authenticates, as long as its consumer's membership is live.
    Valid,
    /// It never authenticates again.
    Revoked {
        /// When it was revoked first.
        at: DateTime<Utc>,
        /// Who did that.
        by: Actor,
        /// The cause, of which there are a few; free words are in the note.
        reason: RevocationReason,
    },
}

/// A request that a key was accepted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastUse {
    /// When the request was accepted, in UTC.
    pub at: DateTime<Utc>,
    /// The client's address, if it has one.
    pub from: Option<IpAddr>,
}

/// The last use of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// The key whose token was accepted.
    pub key: ApiKeyId,
    /// Its last use.
    pub last: LastUse,
}

/// The revocation of a key. Once it has come, later ones change nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// When it comes, or came.
    pub end: End,
    /// Who did it.
    pub by: Actor,
    /// The cause, of which there are a few; free words are in the note.
    pub reason: RevocationReason,
    /// What whoever did it said to the holder.
    pub note: Option<RevocationNote>,
}

text_type! {
    /// What an owner says when revoking somebody's key: one line of 1 to 200 code points.
    RevocationNote, max 200, OneLine
}

words! {
    /// Why a key was revoked.
    RevocationReason {
        /// Its holder no longer wanted it.
        Holder = "holder",
        /// An owner of the organization ended it.
        Owner = "owner",
        /// Its token was found where it should not be.
        Leak = "leak",
        /// An administrator of the installation ended it.
        Administrator = "administrator",
    }
}

/// What happens to the keys that were created from a revoked one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescendantKeys {
    /// They stay valid.
    Keep,
    /// They are revoked with it.
    Revoke,
}
