//! What requests say about keys.

use chrono::{DateTime, Utc};
use keyward_domain::api_key::{KeyDescription, KeyEdit, KeyName};
use keyward_domain::keys::{KeyDraft, RotationDraft};
use poem_openapi::types::Example;
use poem_openapi::{Enum, Object};

use super::examples;
use crate::json::moment_if_any;
use crate::request::{Fields, ReadFields};

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
    /// What the key is for: up to 500 code points after normalization (NFC) and trimming, CRLF counting as
    /// one. Characters that a name must not contain are refused, except
    /// line feeds. Empty if absent or `null`.
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

/// How to rotate a key. The body may be omitted.
#[derive(Object)]
#[oai(
    rename = "RotateApiKeyRequest",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct RotateApiKeyRequest {
    /// When the old key ends. `after_grace` if absent; `null` counts as absent, too.
    old_key_ends: Option<OldKeyEnds>,
    /// For `after_grace`: after how many seconds the old key ends. 86,400, which is a day, if absent or
    /// `null`. A key that expires sooner does so.
    #[oai(validator(minimum(value = "1"), maximum(value = "604800")))]
    grace_seconds: Option<i64>,
    /// When the new key expires. Same rules as at creation. If absent or `null`, the new key expires when the
    /// old one would have, or after the organization's maximum lifetime, if that is sooner. A key that
    /// rotates itself cannot postpone this.
    #[oai(serialize_with = "moment_if_any")]
    expires_at: Option<DateTime<Utc>>,
}

/// When a rotated key ends: some time after the rotation, `at_once`, or within two minutes of the new key's
/// first use.
#[derive(Enum)]
#[oai(rename_all = "snake_case")]
pub(crate) enum OldKeyEnds {
    AfterGrace,
    AtOnce,
    OnFirstUse,
}

impl ReadFields for RotateApiKeyRequest {
    const MAY_BE_ABSENT: bool = true;

    type Read = RotationDraft;

    fn read(fields: &mut Fields) -> Option<RotationDraft> {
        let old_key_ends = fields.old_key_end("oldKeyEnds", "graceSeconds");
        let expiry = fields.expiry("expiresAt");
        Some(RotationDraft {
            old_key_ends: old_key_ends?,
            expiry: expiry?,
        })
    }
}

impl Example for RotateApiKeyRequest {
    fn example() -> Self {
        Self {
            old_key_ends: Some(OldKeyEnds::AfterGrace),
            grace_seconds: Some(3_600),
            expires_at: Some(examples::expiry()),
        }
    }
}

impl Example for CreateApiKeyRequest {
    fn example() -> Self {
        Self {
            name: examples::NAME.to_owned(),
            description: Some(examples::DESCRIPTION.to_owned()),
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
