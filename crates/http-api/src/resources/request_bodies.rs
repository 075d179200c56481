//! What requests say about keys.

use keyward_domain::api_key::{KeyDescription, KeyEdit, KeyName};
use keyward_domain::keys::KeyDraft;
use poem_openapi::Object;
use poem_openapi::types::Example;

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
    /// The name of the key, in any script: one line of 1 to 100 code points after normalization (NFC) and trimming. It
    /// need not be unique. It must contain a visible character. Control characters, bidirectional control characters,
    /// invisible characters, more than six combining marks in a row, and API keys are refused.
    #[oai(validator(min_length = 1, pattern = r"^[\s\S]*\S[\s\S]*$"))]
    name: String,
    /// What the key is for: up to 500 code points after normalization (NFC) and trimming, CRLF counting as one; line
    /// feeds are allowed. Empty if absent or `null`.
    description: Option<String>,
    /// Whether the new key can create keys, and read, update and revoke the other keys of its consumer. Otherwise it can
    /// only read, update and revoke itself. Cannot be changed later. If absent or `null`, the default of the organization
    /// applies: `true` unless an owner changed it.
    can_manage_keys: Option<bool>,
}

impl ReadFields for CreateApiKeyRequest {
    type Read = KeyDraft;

    fn read(fields: &mut Fields) -> Option<KeyDraft> {
        let name = fields.required("name", KeyName::parse);
        let description = fields.or_empty("description", KeyDescription::parse);
        let can_manage_keys = fields.flag("canManageKeys");
        Some(KeyDraft {
            name: name?,
            description: description?,
            can_manage_keys: can_manage_keys?,
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
}

impl ReadFields for UpdateApiKeyRequest {
    type Read = KeyEdit;

    fn read(fields: &mut Fields) -> Option<KeyEdit> {
        let name = fields.change_to_text("name", KeyName::parse);
        let description = fields.change("description", KeyDescription::parse);
        Some(KeyEdit {
            name: name?,
            description: description?,
        })
    }
}

impl Example for CreateApiKeyRequest {
    fn example() -> Self {
        Self {
            name: "Nightly backup".to_owned(),
            description: Some("Copies the build artifacts to the archive.".to_owned()),
            can_manage_keys: Some(false),
        }
    }
}

impl Example for UpdateApiKeyRequest {
    fn example() -> Self {
        Self {
            name: Some("Hourly backup".to_owned()),
            description: None,
        }
    }
}
