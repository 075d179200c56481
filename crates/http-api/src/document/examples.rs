//! Examples of parameters, with which importers such as Postman's fill in requests.
//!
//! The examples of an operation together form a harmless request: the cursor matches the filters, and the
//! identifiers do not exist. An `Idempotency-Key` has none, because another request with the same one is
//! refused.

use serde_json::{Value, json};

use super::operations::operations_mut;
use crate::paths;
use crate::resources::examples as resources;

/// Gives parameters their examples.
pub(super) fn add_examples(document: &mut Value) {
    for (path, operation) in operations_mut(document) {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            if let Some(example) = example(&path, parameter["name"].as_str().unwrap_or_default()) {
                parameter["example"] = example;
            }
        }
    }
}

fn example(path: &str, parameter: &str) -> Option<Value> {
    let is_about_projects = path.starts_with(paths::PROJECTS);
    Some(match parameter {
        "id" if is_about_projects => json!(resources::PROJECT_ID),
        "id" => json!(resources::API_KEY_ID),
        "cursor" if is_about_projects => json!(resources::project_cursor()),
        "cursor" => json!(resources::api_key_cursor()),
        "limit" => json!(50),
        "status" => json!("valid"),
        "search" => json!(resources::SEARCH),
        "expires_before" => json!(resources::EXPIRES_BEFORE),
        "descendants" => json!("keep"),
        "project" => json!(resources::PROJECT_ID),
        "If-Match" => json!("*"),
        _ => return None,
    })
}
