//! What requests say about keys.

use keyward_domain::api_key::{KeyDescription, KeyEdit, KeyName};
use keyward_domain::keys::KeyDraft;
use poem_openapi::Object;
use poem_openapi::types::Example;

use crate::request::{Fields, ReadFields};

/// A key to be created.
#[derive(Object)]
#[oai(
    rename = "CreateApiKeyRequest",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct CreateApiKeyRequest {
    /// A name for people, in any script: one line of 1 to 100 code points after normalization (NFC) and trimming. It
    /// need not be unique. Something of it must be visible. Control characters, what reorders the text around it or is
    /// drawn as nothing, over six combining marks in a row, and API keys are refused.
    #[oai(validator(min_length = 1, pattern = r"^[\s\S]*\S[\s\S]*$"))]
    name: String,
    /// What the key is for: up to 500 code points after normalization (NFC) and trimming, CRLF counting as one; line
    /// feeds are allowed. Empty if absent or `null`.
    description: Option<String>,
    /// Whether the new key may create keys, and see and change the other keys of its consumer. Without this right it
    /// reaches only itself. It never changes afterwards. If absent or `null`, as the organization has chosen for new
    /// keys: `true` unless an owner changed that.
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

/// What to change on a key. What is absent stays as it is.
#[derive(Object)]
#[oai(rename = "UpdateApiKeyRequest", skip_serializing_if_is_none, example)]
pub(crate) struct UpdateApiKeyRequest {
    /// The new name, under the rules of a new key's. A key always has one: `null` is refused.
    #[oai(validator(min_length = 1, pattern = r"^[\s\S]*\S[\s\S]*$"))]
    name: Option<String>,
    /// The new description, under the rules of a new key's. Send an empty one, or `null`, to remove it.
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
