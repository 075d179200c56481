//! The form field for the right to manage keys.

use crate::forms::Fields;
use crate::refusal::Refusal;

/// The name of the field.
const FIELD: &str = "manage_keys";

/// The field's value.
pub(super) const fn form_value(can_manage_keys: bool) -> &'static str {
    if can_manage_keys { "yes" } else { "no" }
}

/// Reads the field; `None` if the form does not have it.
pub(super) fn from_form_value(form: &Fields) -> Result<Option<bool>, Refusal> {
    match form.optional(FIELD) {
        None => Ok(None),
        Some("yes") => Ok(Some(true)),
        Some("no") => Ok(Some(false)),
        Some(_) => Err(Refusal::BadForm("A choice in the form is invalid.")),
    }
}
