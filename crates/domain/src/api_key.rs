//! The personal key: an API key of one consumer, and the only key type.

mod expiry;
pub(crate) mod filter;
pub(crate) mod limits;
mod longest_life;
pub(crate) mod new_api_key;
mod planned_end;
pub(crate) mod rotation;
mod version;

use std::borrow::Cow;
use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};

use crate::audit::{Act, Action, Actor, AuditEvent, Subject};
use crate::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use crate::idempotency_key::RequestDigest;
use crate::text::{folded, text_type};
use crate::token::TokenHint;
use crate::validity::{End, is_over};
use crate::words::words;

pub use expiry::{CannotExtendLife, Expiry, ExpiryChange, InvalidExpiry};
pub use longest_life::{InvalidLongestLife, LongestLife};
pub use rotation::{Grace, InvalidGrace, OldKeyEnd};
pub use version::{InvalidKeyVersion, KeyPrecondition, KeyVersion};

/// A personal API key, without its token, which is shown once and never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its public identifier.
    pub id: ApiKeyId,
    /// The membership that holds it; it never changes.
    pub consumer_id: MembershipId,
    /// Shown to people in place of the token.
    pub hint: TokenHint,
    /// Its name, given by the holder; need not be unique.
    pub name: KeyName,
    /// The holder's description of its purpose; may be empty.
    pub description: KeyDescription,
    /// Whether a user or another key created it.
    pub origin: Origin,
    /// The key that this one is below in its key tree, if that is not its parent: the key that
    /// [rotated](Self::rotate) another one to it or, once what it was below is purged (see
    /// [`retention`](crate::retention)), the nearest ancestor that is still stored. It may name a purged key
    /// if no ancestor is stored: then this key is a root.
    pub adoptive_parent_id: Option<ApiKeyId>,
    /// Whether it may create keys, and see and change the other keys of its consumer. It never changes.
    pub can_manage_keys: bool,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Its revocation, which may lie ahead: see [`ApiKey::revoked`].
    pub revocation: Option<Revocation>,
    /// Its last use, up to a minute behind; `None` if never used.
    pub last_use: Option<LastUse>,
    /// The key that it [succeeds](Self::rotate), if any.
    pub rotated_from: Option<ApiKeyId>,
    /// The key that [succeeds](Self::rotate) it, if any. It may have ended, or be purged: see
    /// [`ApiKey::live_successor`].
    pub rotated_to: Option<ApiKeyId>,
}

impl ApiKey {
    /// The maximum number of valid keys in a chain from a key tree's root to a leaf. Revoked keys between do
    /// not count, and a rotated key and its successor in the same chain [count as one](Self::depth_of).
    pub const MAX_TREE_DEPTH: u32 = 32;

    /// Creates a key from a draft. The right to manage keys defaults to true. The end is planned by the
    /// creator of the key.
    #[must_use]
    pub fn new(
        id: ApiKeyId,
        consumer_id: MembershipId,
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
            adoptive_parent_id: None,
            can_manage_keys: draft.can_manage_keys.unwrap_or(true),
            created_at,
            revocation: draft
                .expiry
                .map(|expiry| Revocation::planned(expiry.at(), origin.actor(), RevocationReason::Expired)),
            last_use: None,
            rotated_from: None,
            rotated_to: None,
        }
    }

    /// The key's state at a given time. Access also requires a live membership: see
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

    /// The revocation, if it is in effect at this time.
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

    /// Whether the key was revoked because its token leaked, at this moment or later.
    #[must_use]
    pub fn leaked_since(&self, since: DateTime<Utc>) -> bool {
        let revocation = self.revocation.as_ref();
        revocation.is_some_and(|revocation| {
            revocation.reason == RevocationReason::Leak && revocation.end.at() >= since
        })
    }

    /// The key that created this one, if a key did.
    #[must_use]
    pub const fn parent(&self) -> Option<ApiKeyId> {
        match self.origin {
            Origin::Console(_) => None,
            Origin::Key(parent) => Some(parent),
        }
    }

    /// The key that this one is below in its key tree: the [adoptive parent](Self::adoptive_parent_id) or
    /// else the key that created it.
    #[must_use]
    pub fn effective_parent(&self) -> Option<ApiKeyId> {
        self.adoptive_parent_id.or_else(|| self.parent())
    }

    /// From when the retention of the key counts: its own end or else the end of its membership, once that is
    /// recorded as come. A planned end that is not recorded does not count, because the audit log does not
    /// have it yet.
    #[must_use]
    pub fn dead_since(&self, membership: Option<End>) -> Option<DateTime<Utc>> {
        let recorded = |end| match end {
            End::Come(at) => Some(at),
            End::Planned(_) => None,
        };
        let [own, memberships] = [self.end(), membership].map(|end| end.and_then(recorded));
        own.or(memberships)
    }

    /// The folded text that searches match: name, description and the token's last four characters.
    #[must_use]
    pub fn search_text(&self) -> String {
        folded(&format!(
            "{}\n{}\n{}",
            self.name,
            self.description,
            self.hint.last_four()
        ))
    }

    /// The editable fields, which determine the [version](Self::version).
    fn changeable(&self) -> [Cow<'_, str>; 3] {
        // Revoking a key does not change its version, unless a rotation does it; nor does the coming of its
        // planned end.
        let planned = self.revocation.as_ref().filter(|revocation| {
            matches!(revocation.end, End::Planned(_))
                || matches!(
                    revocation.reason,
                    RevocationReason::Expired | RevocationReason::Rotation
                )
        });
        let planned = planned.map(|revocation| revocation.end.at().timestamp_millis().to_string());
        [
            self.name.as_str().into(),
            self.description.as_str().into(),
            planned.unwrap_or_default().into(),
        ]
    }

    /// Applies an edit of a valid key, in an organization with this maximum lifetime of new keys. While its
    /// [successor is live](Self::live_successor), the end of the key cannot be postponed. Returns the
    /// changes: none, one or both kinds.
    ///
    /// # Errors
    /// Nothing is changed then.
    pub fn apply(
        &mut self,
        edit: &KeyEdit,
        live_successor: Option<ApiKeyId>,
        longest: Option<LongestLife>,
        by: Actor,
    ) -> Result<Vec<ChangeOfKey>, CannotExtendLife> {
        let before = self.end().map(End::at);
        let is_replanned = match edit.expiry {
            Some(change) => self.replan(change, live_successor, longest, by)?,
            None => false,
        };
        let after = self.end().map(End::at);
        let words = self.apply_words(edit).then_some(ChangeOfKey::Words);
        let expiry = is_replanned.then_some(ChangeOfKey::Expiry { before, after });
        Ok(words.into_iter().chain(expiry).collect())
    }

    /// Whether a text of the key is another one then.
    fn apply_words(&mut self, edit: &KeyEdit) -> bool {
        let version = self.version();
        if let Some(name) = &edit.name {
            self.name = name.clone();
        }
        if let Some(description) = &edit.description {
            self.description = description.clone();
        }
        version != self.version()
    }
}

/// The changes of an edit of a key that are recorded as one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOfKey {
    /// Its name or its description.
    Words,
    /// Its planned end.
    Expiry {
        /// The planned end before, if there was one.
        before: Option<DateTime<Utc>>,
        /// The planned end after, if there is one.
        after: Option<DateTime<Utc>>,
    },
}

impl Act {
    /// The event of an edited key.
    #[must_use]
    pub fn edit_of_key(&self, id: ApiKeyId, change: ChangeOfKey) -> AuditEvent {
        let key = Subject::ApiKey(id);
        match change {
            ChangeOfKey::Words => self.event(Action::EditApiKey, key),
            ChangeOfKey::Expiry { before, after } => {
                self.event_of_moment(Action::ChangeExpiry, key, before, after)
            }
        }
    }

    /// The event of a new key, which records whether it may manage keys, and its planned end.
    #[must_use]
    pub fn creation_of_key(&self, key: &ApiKey) -> AuditEvent {
        let action = if key.can_manage_keys {
            Action::CreateApiKey
        } else {
            Action::CreateRestrictedApiKey
        };
        self.event_of_moment(action, Subject::ApiKey(key.id), None, key.end().map(End::at))
    }

    /// The event for a planned end of a key that has come. Its actor is the system.
    #[must_use]
    pub fn planned_end_of_key(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
        planned: Option<End>,
    ) -> AuditEvent {
        let (key, planned) = (Subject::ApiKey(id), planned.map(End::at));
        let act = self.of_system(organization);
        act.event_of_moment(Action::ExpireApiKey, key, planned, None)
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
    /// The empty description.
    fn default() -> Self {
        Self(String::new())
    }
}

/// The holder's input for a new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDraft {
    /// Its name, given by the holder; need not be unique.
    pub name: KeyName,
    /// The holder's description of its purpose; may be empty.
    pub description: KeyDescription,
    /// Whether it may manage keys; `None` for the organization's default.
    pub can_manage_keys: Option<bool>,
    /// Its planned end; `None` for a key that is valid until it is revoked.
    pub expiry: Option<Expiry>,
}

impl KeyDraft {
    /// A draft with a name only.
    #[must_use]
    pub fn named(name: KeyName) -> Self {
        Self {
            name,
            description: KeyDescription::default(),
            can_manage_keys: None,
            expiry: None,
        }
    }

    /// A digest of what is asked for, by which a repeated request is known. It is compared with those that
    /// other versions stored, so a later member may count only where it is given.
    #[must_use]
    pub fn request_digest(&self) -> RequestDigest {
        let can_manage_keys = self.can_manage_keys.map(|can| can.to_string());
        let expiry = self
            .expiry
            .map(|expiry| expiry.at().timestamp_millis().to_string());
        RequestDigest::of(
            "createApiKey",
            &[
                self.name.as_str(),
                self.description.as_str(),
                can_manage_keys.as_deref().unwrap_or_default(),
                expiry.as_deref().unwrap_or_default(),
            ],
        )
    }
}

/// An edit of a key. Absent fields do not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyEdit {
    /// The new name; `None` leaves it as it is.
    pub name: Option<KeyName>,
    /// The new description; `None` leaves it as it is.
    pub description: Option<KeyDescription>,
    /// The change of its planned end.
    pub expiry: Option<ExpiryChange>,
}

impl KeyEdit {
    /// Whether the planned end that it sets, if any, lies ahead of the moment at which the edit is made.
    ///
    /// # Errors
    /// It has passed.
    pub fn check(&self, now: DateTime<Utc>) -> Result<(), InvalidExpiry> {
        self.expiry.map_or(Ok(()), |change| change.check(now))
    }
}

impl KeyEdit {
    /// Gives a key all texts of the draft, also the empty ones, and leaves its planned end.
    #[must_use]
    pub fn of_all_texts(draft: KeyDraft) -> Self {
        Self {
            name: Some(draft.name),
            description: Some(draft.description),
            expiry: None,
        }
    }
}

/// How a key was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// By a signed-in user in the console, where every consumer's first key is created.
    Console(UserId),
    /// By a valid key of the same consumer through the API: the parent.
    Key(ApiKeyId),
}

impl Origin {
    /// The creator of the key.
    #[must_use]
    pub const fn actor(self) -> Actor {
        match self {
            Self::Console(user) => Actor::User(user),
            Self::Key(parent) => Actor::ApiKey(parent),
        }
    }
}

/// The state of a key, computed from its revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// The key authenticates while its consumer's membership is live.
    Valid,
    /// The key never authenticates again.
    Revoked {
        /// When it was revoked first.
        at: DateTime<Utc>,
        /// The actor of the first revocation.
        by: Actor,
        /// The cause, of which there are a few; free words are in the note.
        reason: RevocationReason,
    },
}

/// A request that a key was accepted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastUse<Address = IpAddr> {
    /// When the request was accepted, in UTC.
    pub at: DateTime<Utc>,
    /// The client's address, if it has one.
    pub from: Option<Address>,
}

impl LastUse {
    /// A last use that is further ahead than this was noted while a clock was wrong. The clocks of servers
    /// that share a database differ by less.
    pub const MAX_AHEAD: TimeDelta = TimeDelta::days(1);
}

/// The last use of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// The key whose token was accepted.
    pub key: ApiKeyId,
    /// When the token was accepted, and from where.
    pub last: LastUse,
}

/// The revocation of a key. Once in effect, it is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// When it comes, or came.
    pub end: End,
    /// The actor of the revocation.
    pub by: Actor,
    /// The cause, of which there are a few; free words are in the note.
    pub reason: RevocationReason,
    /// A note to the holder.
    pub note: Option<RevocationNote>,
}

text_type! {
    /// A note to the holder of a revoked key: one line of 1 to 200 code points.
    RevocationNote, max 200, OneLine
}

/// Why a key is revoked, with words for its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationCause {
    /// The reason, for programs.
    pub reason: RevocationReason,
    /// The note that the holder and the owners see with it.
    pub note: Option<RevocationNote>,
}

impl From<RevocationReason> for RevocationCause {
    fn from(reason: RevocationReason) -> Self {
        Self { reason, note: None }
    }
}

words! {
    /// Why a key was revoked.
    RevocationReason or NewerWord(0) {
        /// Revoked by its holder.
        Holder = "holder",
        /// Revoked by an owner of the organization.
        Owner = "owner",
        /// Its token leaked.
        Leak = "leak",
        /// Revoked by an administrator of the installation.
        Administrator = "administrator",
        /// Its planned end came.
        Expired = "expired",
        /// It was rotated: its successor took its place.
        Rotation = "rotation",
    }
}

/// Whether a revocation includes the descendants of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescendantKeys {
    /// The descendants stay valid.
    Keep,
    /// They are revoked with it.
    Revoke,
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::{ApiKey, Expiry, KeyDescription, KeyDraft, KeyName};
    use crate::audit::Actor;
    use crate::clock::Clock;
    use crate::membership::Role;
    use crate::testing::TestInstallation;
    use crate::testing::key_edits::{everything, one_by_one};

    fn draft() -> KeyDraft {
        let now = DateTime::UNIX_EPOCH;
        KeyDraft {
            name: KeyName::parse("ci").expect("a name"),
            description: KeyDescription::parse("nightly").expect("a description"),
            can_manage_keys: Some(false),
            expiry: Expiry::new(now + TimeDelta::days(1), now).ok(),
        }
    }

    fn key() -> ApiKey {
        let installation = TestInstallation::new();
        let organization = installation.organization("Acme");
        let ada = installation.member(&organization, "ada", Role::Owner);
        let (new, _) = installation.builder.new_key(&ada.as_holder(), "plain");
        new.key
    }

    /// Servers of other versions compare with what this one stored: a new member may count only where it is
    /// given.
    #[test]
    fn stored_digests_of_drafts_are_the_same_in_every_version() {
        let KeyDraft {
            name,
            description,
            can_manage_keys,
            expiry,
        } = draft();
        let named = KeyDraft::named(name);
        let (mut described, mut restricted, mut expiring) = (named.clone(), named.clone(), named.clone());
        described.description = description;
        restricted.can_manage_keys = can_manage_keys;
        expiring.expiry = expiry;
        for (draft, digest) in [
            (named, "b133acf28b4680e34550a91396b89020"),
            (described, "ef7bc099c10bf71709d3d90fe169d197"),
            (restricted, "532a6fcc8859a15a8c838db07e47e814"),
            (expiring, "b194f0e4bcd9c702b8e46ef472a1ebe4"),
            (draft(), "64abe8e76c05c2d13d3b5f0148ecb04e"),
        ] {
            let stored = hex::encode(draft.request_digest().to_bytes());
            assert_eq!(stored, digest, "{draft:?}");
        }
    }

    #[test]
    fn key_version_is_half_the_digest_of_words_and_end() {
        let key = ApiKey {
            name: KeyName::parse("Deploy").expect("a name"),
            description: KeyDescription::parse("nightly").expect("a description"),
            ..key()
        };
        // printf '\0\0\0\0\0\0\0\6Deploy\0\0\0\0\0\0\0\7nightly\0\0\0\0\0\0\0\0' | sha256sum
        assert_eq!(key.version().to_string(), "413e33054f135a89d01bb64d6fffc48d");
    }

    #[test]
    fn each_edit_changes_the_version_and_each_text_the_search() {
        let now = TestInstallation::new().builder.clock.now();
        let mut key = key();
        for edit in one_by_one(everything(now)) {
            let before = key.clone();
            let changed = key.apply(&edit, None, None, Actor::Administrator);
            assert_eq!(changed.map(|changed| changed.len()), Ok(1), "{edit:?}");
            assert_ne!(key.version(), before.version(), "{edit:?}");
            let is_text = edit.expiry.is_none();
            assert_eq!(key.search_text() != before.search_text(), is_text, "{edit:?}");
        }
    }
}
