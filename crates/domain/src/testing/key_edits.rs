//! Edits of keys.

use chrono::{DateTime, TimeDelta, Utc};

use crate::api_key::{Expiry, ExpiryChange, KeyDescription, KeyEdit, KeyName};

/// An edit of all editable fields, to values that no new key has. The end is planned for a month from now.
#[must_use]
pub fn everything(now: DateTime<Utc>) -> KeyEdit {
    let description = "first line\nsecond line\n\n「四行目」";
    let expiry = Expiry::new(now + TimeDelta::days(30), now).expect("a time ahead");
    KeyEdit {
        name: Some(KeyName::parse("déploiement 🚀 ключ מפתח '\"%_\\").expect("a name")),
        description: Some(KeyDescription::parse(description).expect("a description")),
        expiry: Some(ExpiryChange::Set(expiry)),
    }
}

/// One edit for each field that the edit changes; the name first.
#[must_use]
pub fn one_by_one(edit: KeyEdit) -> Vec<KeyEdit> {
    let KeyEdit {
        name,
        description,
        expiry,
    } = edit;
    let nothing = KeyEdit::default();
    let edits = [
        KeyEdit {
            name,
            ..nothing.clone()
        },
        KeyEdit {
            description,
            ..nothing.clone()
        },
        KeyEdit {
            expiry,
            ..nothing.clone()
        },
    ];
    edits.into_iter().filter(|edit| *edit != nothing).collect()
}
