//! What answers show of keys and users.

use chrono::{DateTime, Utc};
use keyward_domain::access::{Caller, CallerOrganization};
use keyward_domain::api_key::{ApiKey, KeyState};
use keyward_domain::holder::Consumer;
use keyward_domain::keys::IssuedKey;
use keyward_domain::validity::End;
use poem_openapi::types::Example;
use poem_openapi::{Enum, Object};
use serde::Serialize;

use super::examples;
use crate::json::{moment, moment_if_any, write_moment};

/// A personal API key, without its token.
#[derive(Object)]
#[oai(
    rename = "ApiKey",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct ApiKeyItem {
    /// The ID of the key. Not a secret.
    id: String,
    /// The prefix and the last four characters of the token.
    hint: String,
    /// The name of the key; not unique.
    name: String,
    /// What the key is for; empty if not set.
    description: String,
    /// Whether the key is valid.
    status: ApiKeyStatus,
    /// Whether the key can create keys, and read, update and revoke the other keys of its consumer. Otherwise
    /// it can only read, update and revoke itself. Cannot be changed.
    can_manage_keys: bool,
    /// When it was created.
    #[oai(serialize_with = "moment")]
    created_at: DateTime<Utc>,
    /// When the key expires. Absent if it is valid until it is revoked or its user's membership ends, and if
    /// it is revoked or has expired.
    #[oai(serialize_with = "moment_if_any")]
    expires_at: Option<DateTime<Utc>>,
    /// Whether the key stops working within seven days: `expiresAt` is that close, or owners have planned
    /// that the membership of its user ends by then. False if it is revoked or has expired.
    expires_soon: bool,
    /// The ID of the key that created this key. That key may no longer exist: revoked keys are deleted after
    /// some time. Absent if the key was created in the console. A rotation hands it on from the rotated key;
    /// but `descendants=revoke` follows the key that made the rotation, if a key did.
    created_by_key_id: Option<String>,
    /// The ID of the key that this key took the place of, if any. That key may no longer exist.
    rotated_from_id: Option<String>,
    /// The ID of the key that took the place of this key, if it was rotated. That key may no longer exist.
    rotated_to_id: Option<String>,
    /// When the key was last used, accurate to about a minute. Absent if it was never used.
    #[oai(serialize_with = "moment_if_any")]
    last_used_at: Option<DateTime<Utc>>,
    /// The client IP address of the last use. Absent if it is not known.
    last_used_from: Option<String>,
    /// When the key was revoked or expired. Absent if it is valid.
    #[oai(serialize_with = "moment_if_any")]
    revoked_at: Option<DateTime<Utc>>,
    /// Why the key was revoked: by its `holder`, by an `owner`, because of a `leak`, by an `administrator`,
    /// because it `expired`, or by its `rotation`. More reasons may be added. Absent if the key is valid.
    revoked_reason: Option<String>,
    /// The consumer that the key acts as: one user's membership in one organization.
    consumer_id: String,
    /// The username of the user that the key acts as.
    consumer_username: String,
}

/// Whether a key is valid.
#[derive(Enum)]
#[oai(rename_all = "lowercase")]
pub(crate) enum ApiKeyStatus {
    /// Not revoked.
    Valid,
    /// Revoked or expired, which is final.
    Revoked,
}

impl ApiKeyItem {
    pub(crate) fn new(key: &ApiKey, caller: &Caller) -> Self {
        let now = caller.accepted_at();
        let (status, revoked_at, revoked_reason) = match key.state(now) {
            KeyState::Valid => (ApiKeyStatus::Valid, None, None),
            KeyState::Revoked { at, by: _, reason } => {
                (ApiKeyStatus::Revoked, Some(at), Some(reason.as_str().to_owned()))
            }
        };
        Self {
            id: key.id.to_string(),
            hint: key.hint.to_string(),
            name: key.name.to_string(),
            description: key.description.to_string(),
            status,
            can_manage_keys: key.can_manage_keys,
            created_at: key.created_at,
            expires_at: key.expires_at(now),
            expires_soon: key.expires_soon(now) || (key.is_valid(now) && caller.membership_expires_soon()),
            created_by_key_id: key.parent().map(|parent| parent.to_string()),
            rotated_from_id: key.rotated_from.map(|key| key.to_string()),
            rotated_to_id: key.rotated_to.map(|key| key.to_string()),
            last_used_at: key.last_use.map(|last| last.at),
            last_used_from: key
                .last_use
                .and_then(|last| last.from)
                .map(|address| address.to_string()),
            revoked_at,
            revoked_reason,
            consumer_id: key.consumer_id.to_string(),
            consumer_username: caller.consumer().username.to_string(),
        }
    }
}

/// A page of personal keys, newest first.
#[derive(Object)]
#[oai(
    rename = "ApiKeyPage",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct ApiKeyPage {
    /// The keys, newest first.
    pub(crate) items: Vec<ApiKeyItem>,
    /// The `cursor` of the next page. Absent on the last page.
    pub(crate) next_cursor: Option<String>,
}

/// A new personal API key with its token, which is shown only once.
#[derive(Object)]
#[oai(
    rename = "CreatedApiKey",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct CreatedApiKey {
    /// The ID of the key. Not a secret.
    id: String,
    /// The token. Keep it secret: it is not shown again.
    key: String,
    /// The token, always the same as `key`. Clients can read either field.
    full_key: String,
    /// The name as stored.
    name: String,
    /// The description as stored; empty if not set.
    description: String,
    /// When it was created.
    #[oai(serialize_with = "moment")]
    created_at: DateTime<Utc>,
    /// The consumer that the key acts as, the same as the calling key's.
    consumer_id: String,
    /// The username of the user that the key acts as.
    consumer_username: String,
    /// Whether the key can create keys, and read, update and revoke the other keys of its consumer. Otherwise
    /// it can only read, update and revoke itself. Cannot be changed.
    can_manage_keys: bool,
    /// When the key expires. Absent if it is valid until it is revoked.
    #[oai(serialize_with = "moment_if_any")]
    expires_at: Option<DateTime<Utc>>,
}

impl CreatedApiKey {
    pub(crate) fn new(issued: &IssuedKey, consumer: &Consumer) -> Self {
        let token = issued.token.expose();
        Self {
            id: issued.key.id.to_string(),
            key: token.to_owned(),
            full_key: token.to_owned(),
            name: issued.key.name.to_string(),
            description: issued.key.description.to_string(),
            created_at: issued.key.created_at,
            consumer_id: issued.key.consumer_id.to_string(),
            consumer_username: consumer.username.to_string(),
            can_manage_keys: issued.key.can_manage_keys,
            expires_at: issued.key.end().map(End::at),
        }
    }
}

/// The user that the calling key acts as.
#[derive(Object, Serialize)]
#[serde(rename_all = "camelCase")]
#[oai(rename = "User", rename_all = "camelCase", example)]
pub(crate) struct UserItem {
    /// The ID of the user.
    user_id: String,
    /// The name the user signs in with.
    username: String,
    /// The user's membership.
    consumer_id: String,
    /// The organization of the membership.
    organization: OrganizationSummary,
    /// The calling key. All of its fields are at `/api/v1/user/api-keys/current`.
    api_key: CallingApiKey,
}

/// A summary of an organization.
#[derive(Object, Serialize)]
#[oai(rename = "OrganizationSummary")]
pub(crate) struct OrganizationSummary {
    /// The ID of the organization.
    id: String,
    /// The name of the organization in console URLs. Never changes.
    slug: String,
    /// The name of the organization.
    name: String,
}

/// A summary of the calling key.
#[derive(Object, Serialize)]
#[serde(rename_all = "camelCase")]
#[oai(rename = "CallingApiKey", rename_all = "camelCase")]
pub(crate) struct CallingApiKey {
    /// The ID of the key.
    id: String,
    /// Whether the key can create keys, and read, update and revoke the other keys of its consumer. Otherwise
    /// it can only read, update and revoke itself. Cannot be changed.
    can_manage_keys: bool,
    /// When it was created.
    #[oai(serialize_with = "moment")]
    #[serde(serialize_with = "write_moment")]
    created_at: DateTime<Utc>,
}

impl OrganizationSummary {
    pub(crate) fn of(organization: &CallerOrganization) -> Self {
        Self {
            id: organization.id.to_string(),
            slug: organization.slug.to_string(),
            name: organization.name.to_string(),
        }
    }
}

impl From<&Caller> for UserItem {
    fn from(caller: &Caller) -> Self {
        Self {
            user_id: caller.consumer().user_id.to_string(),
            username: caller.consumer().username.to_string(),
            consumer_id: caller.consumer().id.to_string(),
            organization: OrganizationSummary::of(caller.organization()),
            api_key: CallingApiKey {
                id: caller.api_key().id.to_string(),
                can_manage_keys: caller.api_key().can_manage_keys,
                created_at: caller.api_key().created_at,
            },
        }
    }
}

impl Example for ApiKeyItem {
    fn example() -> Self {
        Self {
            id: examples::API_KEY_ID.to_owned(),
            hint: examples::HINT.to_owned(),
            name: examples::NAME.to_owned(),
            description: examples::DESCRIPTION.to_owned(),
            status: ApiKeyStatus::Valid,
            can_manage_keys: false,
            created_at: examples::moment(),
            expires_at: Some(examples::expiry()),
            expires_soon: false,
            created_by_key_id: Some(examples::PARENT_ID.to_owned()),
            rotated_from_id: None,
            rotated_to_id: None,
            last_used_at: Some(examples::moment()),
            last_used_from: Some("203.0.113.7".to_owned()),
            revoked_at: None,
            revoked_reason: None,
            consumer_id: examples::CONSUMER_ID.to_owned(),
            consumer_username: "ada".to_owned(),
        }
    }
}

impl Example for ApiKeyPage {
    fn example() -> Self {
        Self {
            items: vec![ApiKeyItem::example()],
            next_cursor: Some(examples::api_key_cursor()),
        }
    }
}

impl Example for CreatedApiKey {
    fn example() -> Self {
        Self {
            id: examples::API_KEY_ID.to_owned(),
            key: examples::TOKEN.to_owned(),
            full_key: examples::TOKEN.to_owned(),
            name: examples::NAME.to_owned(),
            description: examples::DESCRIPTION.to_owned(),
            created_at: examples::moment(),
            consumer_id: examples::CONSUMER_ID.to_owned(),
            consumer_username: "ada".to_owned(),
            can_manage_keys: false,
            expires_at: Some(examples::expiry()),
        }
    }
}

impl Example for UserItem {
    fn example() -> Self {
        Self {
            user_id: examples::USER_ID.to_owned(),
            username: "ada".to_owned(),
            consumer_id: examples::CONSUMER_ID.to_owned(),
            organization: OrganizationSummary::example(),
            api_key: CallingApiKey {
                id: examples::PARENT_ID.to_owned(),
                can_manage_keys: true,
                created_at: examples::moment(),
            },
        }
    }
}

impl Example for OrganizationSummary {
    fn example() -> Self {
        Self {
            id: "019b76ce-e000-7f0e-8c2d-3e4f5a6b7c8d".to_owned(),
            slug: "analytical-engines".to_owned(),
            name: "Analytical Engines".to_owned(),
        }
    }
}
