//! Headers of operations that are deprecated, or have a deprecated part.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::documented::DOCUMENT;

/// Whether a part of the document contains something deprecated, or refers to it.
fn is_deprecated(part: &Value, document: &Value, seen: &mut BTreeSet<String>) -> bool {
    match part {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            let is_there = reference.is_some_and(|reference| {
                let target = document.pointer(reference.trim_start_matches('#')).unwrap();
                seen.insert(reference.to_owned()) && is_deprecated(target, document, seen)
            });
            members.get("deprecated") == Some(&json!(true))
                || is_there
                || members.values().any(|part| is_deprecated(part, document, seen))
        }
        Value::Array(parts) => parts.iter().any(|part| is_deprecated(part, document, seen)),
        _ => false,
    }
}

/// The successful responses of deprecated operations that do not declare `Deprecation` (RFC 9745) and `Sunset` (RFC
/// 8594).
fn undeclared(document: &Value) -> Vec<String> {
    let mut undeclared = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if !is_deprecated(operation, document, &mut BTreeSet::new()) {
                continue;
            }
            let responses = operation["responses"].as_object().unwrap().iter();
            for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
                let headers = &response["headers"];
                if headers["Deprecation"].is_null() || headers["Sunset"].is_null() {
                    undeclared.push(format!("{method} {path} {status}"));
                }
            }
        }
    }
    undeclared
}

#[test]
fn deprecated_operations_declare_deprecation_headers() {
    assert_eq!(undeclared(&DOCUMENT), Vec::<String>::new());
}

#[test]
fn deprecated_operations_and_members_are_found() {
    let mut operation = DOCUMENT.clone();
    operation["paths"]["/api/v1/user"]["get"]["deprecated"] = json!(true);
    assert_eq!(undeclared(&operation), ["get /api/v1/user 200"]);
    let headers = &mut operation["paths"]["/api/v1/user"]["get"]["responses"]["200"]["headers"];
    headers["Deprecation"] = json!({"schema": {"type": "string"}});
    assert_eq!(undeclared(&operation), ["get /api/v1/user 200"]);
    let headers = &mut operation["paths"]["/api/v1/user"]["get"]["responses"]["200"]["headers"];
    headers["Sunset"] = json!({"schema": {"type": "string"}});
    assert_eq!(undeclared(&operation), Vec::<String>::new());

    let mut member = DOCUMENT.clone();
    member["components"]["schemas"]["OrganizationSummary"]["properties"]["slug"]["deprecated"] = json!(true);
    let found = undeclared(&member);
    assert!(found.contains(&"get /api/v1/user 200".to_owned()), "{found:?}");
    assert!(
        !found.contains(&"get /api/v1/user/projects 200".to_owned()),
        "{found:?}"
    );
}
