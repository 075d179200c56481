//! Iterates over the operations of the document.

use serde_json::Value;

/// Each operation of a document, with its path.
pub(super) fn operations_mut(document: &mut Value) -> impl Iterator<Item = (String, &mut Value)> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    paths.into_iter().flatten().flat_map(|(path, operations)| {
        let operations = operations.as_object_mut();
        operations
            .into_iter()
            .flatten()
            .map(move |(_, operation)| (path.clone(), operation))
    })
}
