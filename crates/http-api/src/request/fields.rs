//! Parses the fields of a request body and collects all errors.

use chrono::{DateTime, Utc};
use keyward_domain::api_key::{Expiry, ExpiryChange, Grace, InvalidExpiry, OldKeyEnd};
use keyward_domain::text::TextError;
use keyward_domain::token::Token;
use serde_json::{Map, Value};

use crate::problem::{FieldError, Problem};

/// The maximum number of errors in a response; a body may have thousands of unknown fields.
const MAX_ERRORS: usize = 50;

/// The fields of a body that are not parsed yet, and the errors found so far.
pub(crate) struct Fields {
    now: DateTime<Utc>,
    unread: Map<String, Value>,
    errors: Vec<FieldError>,
    /// Errors of planned ends that have passed. Alone they are no reason to refuse the body, for it may be a
    /// repetition.
    passed_ends: Vec<FieldError>,
}

impl Fields {
    /// `now` decides what lies ahead.
    pub(crate) const fn new(body: Map<String, Value>, now: DateTime<Utc>) -> Self {
        Self {
            now,
            unread: body,
            errors: Vec::new(),
            passed_ends: Vec::new(),
        }
    }

    /// A required text. `None` on error.
    pub(crate) fn required<T>(&mut self, name: &str, read: TextRule<T>) -> Option<T> {
        match self.unread.shift_remove(name) {
            Some(Value::Null) => self.refuse(name, "is required, and must not be null".to_owned()),
            Some(value) => self.text(name, &value, read),
            None => self.refuse(name, "is required".to_owned()),
        }
    }

    /// An optional text; empty if absent or null. `None` on error.
    pub(crate) fn or_empty<T>(&mut self, name: &str, read: TextRule<T>) -> Option<T> {
        let value = self.unread.shift_remove(name);
        self.text(name, &or_empty(value.unwrap_or_default()), read)
    }

    /// A new text, which null empties; inner `None` if unchanged. `None` on error.
    pub(crate) fn change<T>(&mut self, name: &str, read: TextRule<T>) -> Option<Option<T>> {
        match self.unread.shift_remove(name) {
            Some(value) => self.text(name, &or_empty(value), read).map(Some),
            None => Some(None),
        }
    }

    /// A new text that may not be null; inner `None` if unchanged. `None` on error.
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

    /// An optional boolean; inner `None` if absent or null. `None` on error.
    pub(crate) fn flag(&mut self, name: &str) -> Option<Option<bool>> {
        match self.unread.shift_remove(name) {
            None | Some(Value::Null) => Some(None),
            Some(Value::Bool(flag)) => Some(Some(flag)),
            Some(_) => self.refuse(name, "must be `true` or `false`".to_owned()),
        }
    }

    /// An optional planned end, which may have passed; inner `None` if absent or null. `None` on error.
    pub(crate) fn expiry(&mut self, name: &str) -> Option<Option<Expiry>> {
        match self.unread.shift_remove(name) {
            None | Some(Value::Null) => Some(None),
            Some(value) => {
                let expiry = self.read_expiry(name, &value, Expiry::parse_for_repeatable)?;
                if let Err(error) = expiry.check(self.now) {
                    self.passed_ends.push(FieldError {
                        pointer: pointer(name),
                        detail: error.to_string(),
                    });
                }
                Some(Some(expiry))
            }
        }
    }

    /// A change of a planned end, which null removes; inner `None` if unchanged. `None` on error.
    pub(crate) fn expiry_change(&mut self, name: &str) -> Option<Option<ExpiryChange>> {
        match self.unread.shift_remove(name) {
            None => Some(None),
            Some(Value::Null) => Some(Some(ExpiryChange::Remove)),
            Some(value) => {
                let expiry = self.read_expiry(name, &value, Expiry::parse)?;
                Some(Some(ExpiryChange::Set(expiry)))
            }
        }
    }

    /// When a rotated key ends, of two optional fields: in which way, and after how many seconds. `None` on
    /// error.
    pub(crate) fn old_key_end(&mut self, way: &str, seconds: &str) -> Option<OldKeyEnd> {
        let grace = match self.unread.shift_remove(seconds) {
            None | Some(Value::Null) => Some(None),
            Some(number) => match whole(&number).map(Grace::from_seconds) {
                Some(Ok(grace)) => Some(Some(grace)),
                Some(Err(error)) => self.refuse(seconds, error.to_string()),
                None => self.refuse(seconds, "must be a whole number from 1 to 604800".to_owned()),
            },
        };
        let word = self.unread.shift_remove(way).unwrap_or_default();
        let other_end = match word.as_str() {
            Some("after_grace") => None,
            None if word.is_null() => None,
            Some("at_once") => Some(OldKeyEnd::AtOnce),
            Some("on_first_use") => Some(OldKeyEnd::OnFirstUse),
            Some(_) | None => {
                let detail = "must be `after_grace`, `at_once` or `on_first_use`";
                return self.refuse(way, detail.to_owned());
            }
        };
        match (other_end, grace?) {
            (None, grace) => Some(OldKeyEnd::After(grace.unwrap_or_default())),
            (Some(end), None) => Some(end),
            (Some(_), Some(_)) => self.refuse(seconds, format!("is only for the {way} `after_grace`")),
        }
    }

    /// A required list of 1 to `at_most` objects, each read in the same way. `None` on error.
    pub(crate) fn objects<T>(
        &mut self,
        name: &str,
        at_most: usize,
        read: fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = match self.unread.shift_remove(name) {
            Some(Value::Array(items)) if (1..=at_most).contains(&items.len()) => items,
            Some(_) => return self.refuse(name, format!("must be a list of 1 to {at_most} objects")),
            None => return self.refuse(name, "is required".to_owned()),
        };
        let mut all = Some(Vec::with_capacity(items.len()));
        for (index, item) in items.into_iter().enumerate() {
            let place = format!("{}/{index}", pointer(name));
            let item = self.object(&place, item, read);
            all = all.zip(item).map(|(mut all, item)| {
                all.push(item);
                all
            });
        }
        self.errors.truncate(MAX_ERRORS);
        all
    }

    fn object<T>(&mut self, place: &str, item: Value, read: fn(&mut Self) -> Option<T>) -> Option<T> {
        let Value::Object(members) = item else {
            self.errors.push(FieldError {
                pointer: place.to_owned(),
                detail: "must be an object".to_owned(),
            });
            return None;
        };
        let mut fields = Self::new(members, self.now);
        let read = read(&mut fields);
        match fields.close(read) {
            Ok(read) => Some(read),
            Err(errors) => {
                self.errors.extend(errors.into_iter().map(|error| FieldError {
                    pointer: format!("{place}{}", error.pointer),
                    ..error
                }));
                None
            }
        }
    }

    /// Returns the parsed body, unless a field is invalid or unknown.
    ///
    /// # Errors
    /// Returns the value, or a problem with the errors of all fields.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Problem> {
        self.close(read).map_err(Problem::invalid_fields)
    }

    fn close<T>(mut self, read: Option<T>) -> Result<T, Vec<FieldError>> {
        let unknown = self.unread.keys().map(|name| FieldError {
            pointer: pointer(name),
            detail: "is not a field of this request".to_owned(),
        });
        self.errors.extend(unknown.take(MAX_ERRORS));
        match read {
            Some(read) if self.errors.is_empty() => Ok(read),
            Some(_) | None => {
                self.errors.append(&mut self.passed_ends);
                Err(self.errors)
            }
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

    fn read_expiry(
        &mut self,
        name: &str,
        value: &Value,
        read: fn(&str, DateTime<Utc>) -> Result<Expiry, InvalidExpiry>,
    ) -> Option<Expiry> {
        let read = match value {
            Value::String(text) => read(text, self.now),
            _ => Err(InvalidExpiry::Malformed),
        };
        match read {
            Ok(expiry) => Some(expiry),
            Err(error) => self.refuse(name, error.to_string()),
        }
    }

    fn refuse<T>(&mut self, name: &str, detail: String) -> Option<T> {
        let pointer = pointer(name);
        self.errors.push(FieldError { pointer, detail });
        None
    }
}

/// A text parser of the domain.
type TextRule<T> = fn(&str) -> Result<T, TextError>;

/// Null means an empty text: clients that send every member send null for unset ones.
fn or_empty(value: Value) -> Value {
    if value.is_null() { "".into() } else { value }
}

/// A whole number. `3600.0` is one, as in JSON Schema.
fn whole(number: &Value) -> Option<i64> {
    let whole_part = |number: f64| (number.fract() == 0.0).then_some(number as i64);
    number.as_i64().or_else(|| number.as_f64().and_then(whole_part))
}

/// A JSON Pointer (RFC 6901 §3). If the member name contains a token, it is not repeated, and the pointer is
/// that of the whole document.
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
    fn json_pointer_tokens_are_escaped() {
        assert_eq!(pointer("name"), "/name");
        assert_eq!(pointer(""), "/");
        assert_eq!(pointer("a/b~c"), "/a~1b~0c");
    }

    #[test]
    fn json_pointers_do_not_expose_tokens() {
        assert_eq!(pointer("kwp_000000000000000000000000000000002wjyrI"), "");
    }
}
