//! Whether a key may manage keys, as forms ask for it.

use crate::forms::Fields;
use crate::refusal::Refusal;

/// The field of forms that asks for it.
const FIELD: &str = "manage_keys";

/// What a form says; nothing if it does not ask.
pub(super) fn chosen_in(form: &Fields) -> Result<Option<bool>, Refusal> {
    match form.optional(FIELD) {
        None => Ok(None),
        Some("yes") => Ok(Some(true)),
        Some("no") => Ok(Some(false)),
        Some(_) => Err(Refusal::BadForm("A choice in the form is invalid.")),
    }
}
