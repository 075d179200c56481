//! Access to the document's JSON; missing members read as empty.

use serde_json::Value;

/// The text of a member; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// The members of a member that is an object, in their order.
pub(super) fn members<'a>(object: &'a Value, member: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = object.get(member).and_then(Value::as_object);
    members.into_iter().flatten()
}

/// The elements of a member that is an array.
pub(super) fn elements<'a>(object: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    let elements = object.get(member).and_then(Value::as_array);
    elements.into_iter().flatten()
}
