//! The name and description of a key, in forms and on pages.

use keyward_domain::api_key::{ApiKey, KeyDescription, KeyEdit, KeyName};
use keyward_domain::keys::KeyDraft;

use crate::forms::Fields;
use crate::pages::field::{Field, focus_first_error};
use crate::refusal::Refusal;

/// The fields of a form.
#[derive(Default)]
pub(super) struct KeyTextForm {
    pub(super) name: Field,
    pub(super) description: Field,
}

impl KeyTextForm {
    pub(super) fn of(key: &ApiKey) -> Self {
        Self {
            name: Field::with_value(key.name.as_str()),
            description: Field::with_value(key.description.as_str()),
        }
    }

    /// The form as it was sent. Every version of it has these fields; one that comes later may be absent, and is
    /// then as it was.
    pub(super) fn filled_in(self, form: &Fields) -> Result<Self, Refusal> {
        let typed = |field: Field, name| {
            let value = form.required(name)?.to_owned();
            Ok::<_, Refusal>(Field { value, ..field })
        };
        Ok(Self {
            name: typed(self.name, "name")?,
            description: typed(self.description, "description")?,
        })
    }

    /// All of them, from the top.
    pub(super) fn fields(&mut self) -> [&mut Field; 2] {
        [&mut self.name, &mut self.description]
    }

    /// Parses the form; on failure, the fields contain the errors.
    pub(super) fn draft(&mut self) -> Option<KeyDraft> {
        let name = KeyName::parse(&self.name.value);
        let name = self.name.check("Name", name);
        let description = KeyDescription::parse(&self.description.value);
        let description = self.description.check("Description", description);
        if self.fields().iter().any(|field| field.error.is_some()) {
            focus_first_error(&mut self.fields());
        }
        Some(KeyDraft {
            description: description?,
            ..KeyDraft::named(name?)
        })
    }

    /// Parses the form as an edit of these fields.
    pub(super) fn edit(&mut self) -> Option<KeyEdit> {
        self.draft().map(KeyEdit::of_all_texts)
    }
}

/// Whether a table of own keys shows only the beginning of the description and the rest on demand.
pub(super) fn is_long(description: &KeyDescription) -> bool {
    const LONG: usize = 60;
    let description = description.as_str();
    description.chars().count() > LONG || description.lines().nth(1).is_some()
}
