//! A member's key, as owners see it in lists.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{HeldKey, MemberProfile};
use keyward_domain::api_key::{Revocation, RevocationReason};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Slug;

use crate::pages::organization_key_tab::{OrganizationKeyTab, keys_of};
use crate::reader::Owner;
use crate::refusal::Refusal;

/// The names of keys and users that appear beside these keys: the keys that created or replaced them, those that they
/// replace, and the users who revoked them.
pub(super) async fn names_beside(
    keys: &[HeldKey],
    owner: &Owner,
) -> Result<HashMap<Subject, String>, Refusal> {
    let parents = keys.iter().filter_map(|key| key.parent().map(Subject::ApiKey));
    let revocations = keys.iter().filter_map(|key| key.revoked(owner.now));
    let revokers = revocations.filter_map(|revocation| revocation.by.as_subject());
    let rotated = keys.iter().flat_map(|key| [key.rotated_from, key.rotated_to]);
    let rotated = rotated.flatten().map(Subject::ApiKey);
    let others: HashSet<Subject> = parents.chain(revokers).chain(rotated).collect();
    let others: Vec<Subject> = others.into_iter().collect();
    let organization = owner.authority.organization_id();
    Ok(owner.console.names.find(organization, &others).await?)
}

/// Whether the user has left the organization, so that their keys give no access.
pub(super) fn has_left(holder: &MemberProfile, now: &DateTime<Utc>) -> bool {
    !holder.membership.is_live(*now)
}

/// The URL of all their valid keys, which give no access if they have left.
pub(super) fn keys_url(holder: &MemberProfile, organization: &Slug, now: &DateTime<Utc>) -> String {
    let tab = if has_left(holder, now) {
        OrganizationKeyTab::WithoutAccess
    } else {
        OrganizationKeyTab::Valid
    };
    keys_of(organization, holder.membership.id, tab)
}

/// The user who revoked a key, or the reason.
pub(super) fn revoker(revocation: &Revocation, names: &HashMap<Subject, String>) -> String {
    let by = revocation.by.as_subject().and_then(|by| names.get(&by));
    match (revocation.reason, revocation.by, by) {
        (RevocationReason::Holder, Actor::ApiKey(_), Some(key)) => format!("by the key {key}"),
        (RevocationReason::Holder, _, _) => "by its user".to_owned(),
        (RevocationReason::Owner, _, Some(owner)) => format!("by {owner}"),
        (RevocationReason::Owner, _, None) => "by an owner".to_owned(),
        (RevocationReason::Leak, _, _) => "because its token leaked".to_owned(),
        (RevocationReason::Administrator, _, _) => "by an administrator".to_owned(),
        (RevocationReason::Expired, _, _) => "as planned".to_owned(),
        (RevocationReason::Rotation, _, _) => "and replaced by another key".to_owned(),
        (RevocationReason::Other(_), _, Some(name)) => format!("by {name}"),
        (RevocationReason::Other(_), _, None) => "for another reason".to_owned(),
    }
}

/// The key that created this one, and its name as long as it is stored.
pub(super) fn parent<'a>(
    key: &HeldKey,
    names: &'a HashMap<Subject, String>,
) -> Option<(ApiKeyId, Option<&'a String>)> {
    let parent = key.parent()?;
    Some((parent, names.get(&Subject::ApiKey(parent))))
}

/// A key that this one replaces, or that replaces it, and its name as long as it is stored.
pub(super) fn other<'a>(
    key: Option<&ApiKeyId>,
    names: &'a HashMap<Subject, String>,
) -> Option<(ApiKeyId, &'a String)> {
    let key = *key?;
    Some((key, names.get(&Subject::ApiKey(key))?))
}
