//! A field of a form that is shown again: the typed value and its error.

use std::fmt;

use keyward_domain::rate::Throttled;
use keyward_domain::token::Token;

use crate::wait::Wait;

/// A text field.
#[derive(Debug, Default)]
pub(super) struct Field {
    /// The typed value; never a password.
    pub(super) value: String,
    /// A full sentence for the reader.
    pub(super) error: Option<String>,
    /// How long the reader has to wait before the next attempt.
    pub(super) wait: Option<Wait>,
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

    /// Says that there were too many attempts.
    pub(super) fn set_throttled(&mut self, throttled: Throttled) {
        self.error = Some("Too many attempts.".to_owned());
        self.wait = Some(Wait::from(throttled));
    }

    /// Returns a valid value, or keeps the error, whose sentence begins with `label`.
    pub(super) fn check<T, E: fmt::Display>(&mut self, label: &str, parsed: Result<T, E>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(error) => {
                self.error = Some(format!("{label} {error}."));
                // It was pasted into the wrong field. No page shows it again.
                if Token::is_in(&self.value) {
                    self.value.clear();
                }
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

#[cfg(test)]
mod tests {
    use keyward_domain::api_key::KeyName;

    use super::Field;

    #[test]
    fn pasted_token_is_not_displayed_again() {
        let shown_after = |typed: &str| {
            let mut field = Field::with_value(typed);
            let parsed = KeyName::parse(&field.value);
            assert!(field.check("Name", parsed).is_none());
            assert!(field.error.is_some());
            field.value
        };
        assert_eq!(shown_after("kwp_000000000000000000000000000000002wjyrI"), "");
        assert_eq!(shown_after("two\nlines"), "two\nlines");
    }
}
