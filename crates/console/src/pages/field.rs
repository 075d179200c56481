//! A field of a form as it is shown again: what was typed, and what is wrong with it.

use std::fmt;

/// A text field.
#[derive(Debug, Default)]
pub(super) struct Field {
    /// What was typed; never a password.
    pub(super) value: String,
    /// What is wrong, as a sentence.
    pub(super) error: Option<String>,
    /// Whether the page opens with the cursor here.
    pub(super) focused: bool,
}

impl Field {
    pub(super) fn with_value(value: &str) -> Self {
        Self {
            value: value.to_owned(),
            ..Self::default()
        }
    }

    /// Notes what is wrong with the field and hands on what is right. `label` begins the sentence.
    pub(super) fn check<T, E: fmt::Display>(&mut self, label: &str, parsed: Result<T, E>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(error) => {
                self.error = Some(format!("{label} {error}."));
                None
            }
        }
    }
}

/// Puts the cursor into the first field that has an error, or else into the first.
pub(super) fn focus_first_error(fields: &mut [&mut Field]) {
    let first = fields.iter().position(|field| field.error.is_some()).unwrap_or(0);
    if let Some(field) = fields.get_mut(first) {
        field.focused = true;
    }
}
