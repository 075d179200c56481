//! The form field for the right to manage keys.

use crate::forms::Fields;
use crate::refusal::Refusal;

/// The name of the field.
const FIELD: &str = "manage_keys";

/// The value of the field for this choice.
pub(super) const fn word(can_manage_keys: bool) -> &'static str {
    if can_manage_keys { "yes" } else { "no" }
}

/// The choice in a form; `None` if the form does not have the field.
pub(super) fn choice(form: &Fields) -> Result<Option<bool>, Refusal> {
    match form.optional(FIELD) {
        None => Ok(None),
        Some("yes") => Ok(Some(true)),
        Some("no") => Ok(Some(false)),
        Some(_) => Err(Refusal::BadForm("A choice in the form is invalid.")),
    }
}
