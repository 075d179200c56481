//! Keys in requests and responses.

use chrono::{DateTime, Utc};
use keyward_domain::access::Caller;
use keyward_domain::api_key::{ApiKey, KeyDescription, KeyEdit, KeyName, KeyState};
use keyward_domain::holder::Consumer;
use keyward_domain::keys::{IssuedKey, KeyDraft};
use keyward_domain::validity::End;
use poem_openapi::types::Example;
use poem_openapi::{Enum, Object};

use super::examples;
use crate::json::{moment, moment_if_any};
use crate::request::{Fields, ReadFields};

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
    /// The purpose of the key; empty if not set.
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

/// The key to create.
#[derive(Object)]
#[oai(
    rename = "CreateApiKeyRequest",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct CreateApiKeyRequest {
    /// The name of the key, in any script: one line of 1 to 100 code points after normalization (NFC) and
    /// trimming. It need not be unique. It must contain a visible character. Control characters,
    /// bidirectional control characters, invisible characters, more than six combining marks in a row, and
    /// API keys are refused.
    #[oai(validator(min_length = 1, pattern = r"^[\s\S]*\S[\s\S]*$"))]
    name: String,
    /// The purpose of the key: up to 500 code points after normalization (NFC) and trimming, CRLF counting as
    /// one. Characters that a name must not contain are refused, except line feeds. Empty if absent or
    /// `null`.
    description: Option<String>,
    /// Whether the new key can create keys, and read, update and revoke the other keys of its consumer.
    /// Otherwise it can only read, update and revoke itself. Cannot be changed later. If absent or `null`,
    /// the default of the organization applies: `true` unless an owner changed it.
    can_manage_keys: Option<bool>,
    /// When the key expires: a time in RFC 3339 format that lies ahead, by at most 3,650 days. Then it is
    /// revoked with the reason `expired`. Can be changed until then. If absent or `null`, the key is valid
    /// until it is revoked. The owners of the organization may have set a maximum lifetime: then no key may
    /// have a later time, and a key without one expires after that lifetime.
    #[oai(serialize_with = "moment_if_any")]
    expires_at: Option<DateTime<Utc>>,
}

impl ReadFields for CreateApiKeyRequest {
    type Read = KeyDraft;

    fn read(fields: &mut Fields) -> Option<KeyDraft> {
        let name = fields.required("name", KeyName::parse);
        let description = fields.or_empty("description", KeyDescription::parse);
        let can_manage_keys = fields.flag("canManageKeys");
        let expiry = fields.expiry("expiresAt");
        Some(KeyDraft {
            name: name?,
            description: description?,
            can_manage_keys: can_manage_keys?,
            expiry: expiry?,
        })
    }
}

/// The fields to change. Absent fields stay the same.
#[derive(Object)]
#[oai(
    rename = "UpdateApiKeyRequest",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct UpdateApiKeyRequest {
    /// The new name. Same rules as at creation. `null` is refused.
    #[oai(validator(min_length = 1, pattern = r"^[\s\S]*\S[\s\S]*$"))]
    name: Option<String>,
    /// The new description. Same rules as at creation. An empty string or `null` removes it.
    description: Option<String>,
    /// When the key expires: a time in RFC 3339 format that lies ahead, by at most 3,650 days. `null` removes
    /// it: the key is then valid until it is revoked. A key cannot postpone or remove its own `expiresAt`. If
    /// the organization has a maximum lifetime, none can be removed, nor postponed beyond that lifetime,
    /// counted from the key's creation; a key without `expiresAt` may get any time.
    #[oai(serialize_with = "moment_if_any")]
    expires_at: Option<DateTime<Utc>>,
}

impl ReadFields for UpdateApiKeyRequest {
    type Read = KeyEdit;

    fn read(fields: &mut Fields) -> Option<KeyEdit> {
        let name = fields.change_to_text("name", KeyName::parse);
        let description = fields.change("description", KeyDescription::parse);
        let expiry = fields.expiry_change("expiresAt");
        Some(KeyEdit {
            name: name?,
            description: description?,
            expiry: expiry?,
        })
    }
}

const EXAMPLE_NAME: &str = "Nightly backup";
const EXAMPLE_DESCRIPTION: &str = "Copies the build artifacts to the archive.";

impl Example for ApiKeyItem {
    fn example() -> Self {
        Self {
            id: examples::API_KEY_ID.to_owned(),
            hint: examples::HINT.to_owned(),
            name: EXAMPLE_NAME.to_owned(),
            description: EXAMPLE_DESCRIPTION.to_owned(),
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
            name: EXAMPLE_NAME.to_owned(),
            description: EXAMPLE_DESCRIPTION.to_owned(),
            created_at: examples::moment(),
            consumer_id: examples::CONSUMER_ID.to_owned(),
            consumer_username: "ada".to_owned(),
            can_manage_keys: false,
            expires_at: Some(examples::expiry()),
        }
    }
}

impl Example for CreateApiKeyRequest {
    fn example() -> Self {
        Self {
            name: EXAMPLE_NAME.to_owned(),
            description: Some(EXAMPLE_DESCRIPTION.to_owned()),
            can_manage_keys: Some(false),
            expires_at: Some(examples::expiry()),
        }
    }
}

impl Example for UpdateApiKeyRequest {
    fn example() -> Self {
        Self {
            name: Some("Hourly backup".to_owned()),
            description: None,
            expires_at: Some(examples::expiry()),
        }
    }
}
