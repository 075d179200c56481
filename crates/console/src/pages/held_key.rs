//! A member's key, as owners see it in lists.

use keyward_domain::administration::ports::HeldKey;
use keyward_domain::api_key::{Revocation, RevocationReason};
use keyward_domain::organization::Slug;

use crate::links;
use crate::pages::last_used::LastUsed;
use crate::pages::moment::Moment;

/// A key of a member.
pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) hint: String,
    pub(super) holder: HolderName,
    pub(super) created: Moment,
    /// Whether another key created it, and not its holder in the console.
    pub(super) has_parent: bool,
    pub(super) last_used: Option<LastUsed>,
    pub(super) revoked: Option<RevokedBySomebody>,
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
    pub(super) who: &'static str,
    pub(super) note: Option<String>,
}

impl KeyRow {
    pub(super) fn new(key: &HeldKey, slug: &Slug) -> Self {
        let holder = &key.holder;
        Self {
            id: key.id.to_string(),
            name: key.name.to_string(),
            description: key.description.to_string(),
            hint: key.hint.to_string(),
            holder: HolderName {
                display_name: holder.user.display_name.to_string(),
                username: holder.user.username.to_string(),
                has_left: !holder.membership.is_live(),
                keys: links::keys_of(slug, holder.membership.id),
            },
            created: Moment(key.created_at),
            has_parent: key.parent().is_some(),
            last_used: key.last_use.map(LastUsed::from),
            revoked: key.revocation.as_ref().map(RevokedBySomebody::from),
            address: links::organization_key(slug, key.id),
        }
    }
}

impl From<&Revocation> for RevokedBySomebody {
    fn from(revocation: &Revocation) -> Self {
        Self {
            at: Moment(revocation.at),
            who: match revocation.reason {
                RevocationReason::Holder => "by its holder",
                RevocationReason::Owner => "by an owner",
                RevocationReason::Leak => "because its token leaked",
                RevocationReason::Administrator => "by an administrator",
            },
            note: revocation.note.as_ref().map(ToString::to_string),
        }
    }
}
