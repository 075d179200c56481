//! Adds to every operation the problems that it can answer with.
//!
//! Nearly all of them follow from what the operation has: credentials, a query, a body, an id in its path. The
//! tests compare every answer they get with the result.

use serde_json::{Map, Value, json};

use crate::problem::{Code, FieldError, MEDIA_TYPE, Problem};

/// The request id of the examples.
const EXAMPLE_REQUEST_ID: &str = "019b76da-a9f4-7e55-b0c1-2d3e4f506172";

/// Only explicit statuses: a `default` or `5XX` answer breaks generators.
pub(super) fn add_problems(document: &mut Value) {
    let Some(Value::Object(paths)) = document.get_mut("paths") else {
        return;
    };
    for (path, operations) in paths {
        let Value::Object(operations) = operations else {
            continue;
        };
        for operation in operations.values_mut() {
            let codes = codes_of(path, operation);
            if let Some(Value::Object(responses)) = operation.get_mut("responses") {
                add_responses(responses, path, &codes);
            }
        }
    }
}

/// In the order of their statuses.
fn codes_of(path: &str, operation: &Value) -> Vec<Code> {
    let id = operation.get("operationId").and_then(Value::as_str);
    let has = |name: &str| operation.get(name).is_some();
    Code::ALL
        .into_iter()
        .filter(|code| match code {
            Code::CredentialsMissing | Code::InvalidToken => has("security"),
            // All but the query and the storage also concern the front door, whatever was asked.
            Code::MalformedRequest
            | Code::MalformedQuery
            | Code::BodyTooLarge
            | Code::Internal
            | Code::Unavailable
            | Code::OutcomeUnknown => true,
            Code::RequestTimeout | Code::UnsupportedMediaType | Code::InvalidFields => has("requestBody"),
            Code::NotFound => path.contains('{'),
            Code::KeyLimitReached => id == Some("createApiKey"),
            Code::KeyRevoked => id == Some("updateApiKey"),
            // A method that is not in the document has no operation; and no operation takes a form's nonce.
            Code::MethodNotAllowed | Code::AlreadyCreated => false,
        })
        .collect()
}

fn add_responses(responses: &mut Map<String, Value>, path: &str, codes: &[Code]) {
    for code in codes {
        let status = code.facts().status.as_str().to_owned();
        let response = responses
            .entry(status)
            .or_insert_with(|| json!({"description": ""}));
        response["description"] = json!(description_with(response, *code));
        for (name, header) in headers_of(*code) {
            response["headers"][name] = header;
        }
        let media_type = &mut response["content"][MEDIA_TYPE];
        media_type["schema"] = json!({"$ref": "#/components/schemas/Problem"});
        media_type["examples"][code.facts().word] = json!({
            "summary": code.facts().title,
            "value": example(path, *code).to_json(EXAMPLE_REQUEST_ID),
        });
    }
    responses.sort_keys();
}

/// One line for each code that an answer with this status can have.
fn description_with(response: &Value, code: Code) -> String {
    let facts = code.facts();
    let line = format!("`{}`: {}", facts.word, facts.meaning);
    match response.pointer("/description").and_then(Value::as_str) {
        // What poem-openapi knows of a status is only the meaning of its code.
        Some(before) if !before.is_empty() && before != facts.meaning => format!("{before}\n\n{line}"),
        _ => line,
    }
}

fn headers_of(code: Code) -> Vec<(&'static str, Value)> {
    match code.facts().status.as_u16() {
        401 => vec![(
            "WWW-Authenticate",
            json!({
                "description": "The scheme that is expected, and why the credentials were refused (RFC 6750).",
                "required": true,
                "schema": {"type": "string"}
            }),
        )],
        503 => vec![(
            "Retry-After",
            json!({
                "description": "Seconds after which to try again.",
                "required": true,
                "schema": {"type": "integer", "format": "int32"}
            }),
        )],
        _ => Vec::new(),
    }
}

fn example(path: &str, code: Code) -> Problem {
    match code {
        Code::InvalidFields => Problem::invalid_fields(vec![
            FieldError {
                pointer: "/name".to_owned(),
                detail: "must not be empty".to_owned(),
            },
            FieldError {
                pointer: "/descripton".to_owned(),
                detail: "is not a field of this request".to_owned(),
            },
        ]),
        Code::NotFound => Problem::nothing_named(path),
        other => other.into(),
    }
}
