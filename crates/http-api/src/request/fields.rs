//! The fields of a request's body, all of whose errors are found in one go.

use keyward_domain::text::TextError;
use keyward_domain::token::Token;
use serde_json::{Map, Value};

use crate::problem::{FieldError, Problem};

/// A body may have thousands of unknown fields: an answer lists only so many errors.
const MOST_ERRORS: usize = 50;

/// The fields of a body that were not read yet, and the errors found so far.
pub(crate) struct Fields {
    unread: Map<String, Value>,
    errors: Vec<FieldError>,
}

impl Fields {
    pub(crate) const fn new(body: Map<String, Value>) -> Self {
        Self {
            unread: body,
            errors: Vec::new(),
        }
    }

    /// A text that must be there. `None` if it has an error.
    pub(crate) fn required<T>(&mut self, name: &str, read: TextRule<T>) -> Option<T> {
        match self.unread.shift_remove(name) {
            Some(Value::Null) => self.refuse(name, "is required, and must not be null".to_owned()),
            Some(value) => self.text(name, &value, read),
            None => self.refuse(name, "is required".to_owned()),
        }
    }

    /// A text that is empty if it is absent or null. `None` if it has an error.
    pub(crate) fn or_empty<T>(&mut self, name: &str, read: TextRule<T>) -> Option<T> {
        let value = self.unread.shift_remove(name);
        self.text(name, &or_empty(value.unwrap_or_default()), read)
    }

    /// A text to change, which null empties; absent if it stays. `None` if it has an error.
    pub(crate) fn change<T>(&mut self, name: &str, read: TextRule<T>) -> Option<Option<T>> {
        match self.unread.shift_remove(name) {
            Some(value) => self.text(name, &or_empty(value), read).map(Some),
            None => Some(None),
        }
    }

    /// A text to change that is never empty; absent if it stays. `None` if it has an error.
    pub(crate) fn change_to_text<T>(&mut self, name: &str, read: TextRule<T>) -> Option<Option<T>> {
        match self.unread.shift_remove(name) {
            Some(Value::Null) => self.refuse(
                name,
                "must not be null: leave it out to keep it as it is".to_owned(),
            ),
            Some(value) => self.text(name, &value, read).map(Some),
            None => Some(None),
        }
    }

    /// A `true` or `false` that may be absent, or `null`. `None` if it is there and has an error.
    pub(crate) fn flag(&mut self, name: &str) -> Option<Option<bool>> {
        match self.unread.shift_remove(name) {
            None | Some(Value::Null) => Some(None),
            Some(Value::Bool(flag)) => Some(Some(flag)),
            Some(_) => self.refuse(name, "must be `true` or `false`".to_owned()),
        }
    }

    /// What was read, unless some field has an error or was not asked for.
    ///
    /// # Errors
    /// Says what is wrong with every field.
    pub(crate) fn finish<T>(mut self, read: Option<T>) -> Result<T, Problem> {
        let unknown = self.unread.keys().map(|name| FieldError {
            pointer: pointer(name),
            detail: "is not a field of this request".to_owned(),
        });
        self.errors.extend(unknown.take(MOST_ERRORS));
        match read {
            Some(read) if self.errors.is_empty() => Ok(read),
            Some(_) | None => Err(Problem::invalid_fields(self.errors)),
        }
    }

    fn text<T>(&mut self, name: &str, value: &Value, read: TextRule<T>) -> Option<T> {
        let Value::String(text) = value else {
            return self.refuse(name, "must be a string".to_owned());
        };
        match read(text) {
            Ok(text) => Some(text),
            Err(error) => self.refuse(name, error.to_string()),
        }
    }

    fn refuse<T>(&mut self, name: &str, detail: String) -> Option<T> {
        let pointer = pointer(name);
        self.errors.push(FieldError { pointer, detail });
        None
    }
}

/// How the domain reads a text.
type TextRule<T> = fn(&str) -> Result<T, TextError>;

/// Null says what an empty text says: clients that send every member of an object send null for what is not set.
fn or_empty(value: Value) -> Value {
    if value.is_null() { "".into() } else { value }
}

/// RFC 6901 §3. Of a token in a name's place it tells nothing: then it is that of the whole document.
fn pointer(name: &str) -> String {
    if Token::is_in(name) {
        return String::new();
    }
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::pointer;

    #[test]
    fn pointers_escape_what_they_are_made_of() {
        assert_eq!(pointer("name"), "/name");
        assert_eq!(pointer(""), "/");
        assert_eq!(pointer("a/b~c"), "/a~1b~0c");
    }

    #[test]
    fn pointers_repeat_no_token() {
        assert_eq!(pointer("kwp_000000000000000000000000000000002wjyrI"), "");
    }
}
