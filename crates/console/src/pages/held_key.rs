//! A member's key, as owners see it in lists.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::HeldKey;
use keyward_domain::api_key::{Revocation, RevocationReason};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::organization::Slug;

use crate::links;
use crate::pages::key_standing::Standing;
use crate::pages::key_words::KeyWords;
use crate::pages::last_used::LastUsed;
use crate::pages::listing::ListedStatus;
use crate::pages::moment::Moment;

/// A key of a member.
pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) words: KeyWords,
    pub(super) hint: String,
    pub(super) can_manage_keys: bool,
    pub(super) holder: HolderName,
    pub(super) created: Moment,
    /// The key that created it, if a key did and not its holder in the console.
    pub(super) parent: Option<Parent>,
    pub(super) last_used: Option<LastUsed>,
    pub(super) revoked: Option<RevokedBySomebody>,
    /// Its page.
    pub(super) address: String,
}

/// The key that created another.
pub(super) struct Parent {
    /// Absent once it is not kept any more.
    pub(super) name: Option<String>,
    /// Its page.
    pub(super) address: String,
}

/// Whose key it is.
pub(super) struct HolderName {
    pub(super) display_name: String,
    pub(super) username: String,
    /// They are no member any more, so their keys give no access.
    pub(super) has_left: bool,
    /// All their keys.
    pub(super) keys: String,
}

/// How a key ended.
pub(super) struct RevokedBySomebody {
    pub(super) at: Moment,
    pub(super) who: String,
    pub(super) note: Option<String>,
}

impl KeyRow {
    /// The row, with what is known of the [others in it](others_in).
    pub(super) fn new(
        key: &HeldKey,
        slug: &Slug,
        names: &HashMap<Subject, String>,
        now: DateTime<Utc>,
    ) -> Self {
        let holder = &key.holder;
        // Where the keys of former members are.
        let status = (!holder.membership.is_live(now)).then(|| Standing::WithoutAccess.as_str());
        Self {
            id: key.id.to_string(),
            name: key.name.to_string(),
            words: key.into(),
            hint: key.hint.to_string(),
            can_manage_keys: key.can_manage_keys,
            holder: HolderName {
                display_name: holder.user.display_name.to_string(),
                username: holder.user.username.to_string(),
                has_left: !holder.membership.is_live(now),
                keys: links::keys_of(slug, holder.membership.id, status),
            },
            created: Moment(key.created_at),
            parent: key.parent().map(|parent| Parent {
                name: names.get(&Subject::ApiKey(parent)).cloned(),
                address: links::organization_key(slug, parent),
            }),
            last_used: key.last_use.map(LastUsed::from),
            revoked: key
                .revoked(now)
                .map(|revocation| RevokedBySomebody::new(revocation, names)),
            address: links::organization_key(slug, key.id),
        }
    }
}

/// Who else appears in the rows of these keys: the keys that created them, and whoever revoked them.
pub(super) fn others_in(keys: &[HeldKey], now: DateTime<Utc>) -> Vec<Subject> {
    let parents = keys.iter().filter_map(|key| key.parent().map(Subject::ApiKey));
    let revocations = keys.iter().filter_map(|key| key.revoked(now));
    let revokers = revocations.filter_map(|revocation| revocation.by.as_subject());
    let others: HashSet<Subject> = parents.chain(revokers).collect();
    others.into_iter().collect()
}

impl RevokedBySomebody {
    fn new(revocation: &Revocation, names: &HashMap<Subject, String>) -> Self {
        let by = revocation.by.as_subject().and_then(|by| names.get(&by));
        Self {
            at: Moment(revocation.end.at()),
            who: match (revocation.reason, revocation.by, by) {
                (RevocationReason::Holder, Actor::ApiKey(_), Some(key)) => format!("by the key {key}"),
                (RevocationReason::Holder, _, _) => "by its user".to_owned(),
                (RevocationReason::Owner, _, Some(owner)) => format!("by {owner}"),
                (RevocationReason::Owner, _, None) => "by an owner".to_owned(),
                (RevocationReason::Leak, _, _) => "because its token leaked".to_owned(),
                (RevocationReason::Administrator, _, _) => "by an administrator".to_owned(),
            },
            note: revocation.note.as_ref().map(ToString::to_string),
        }
    }
}
