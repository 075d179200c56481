//! Adds to every operation its possible problems.
//!
//! Nearly all follow from the operation's parts: credentials, a query, a body, an id in its path. Tests
//! compare every response with the result.

use keyward_domain::token::TokenHint;
use poem::http::StatusCode;
use serde_json::{Map, Value, json};

use super::headers;
use super::operations::operations_mut;
use crate::base_url::BaseUrl;
use crate::problem::{Code, FieldError, MEDIA_TYPE, Problem};
use crate::resources::examples as resources;
use crate::{authentication, verifier_authentication};

/// JSON Pointer (RFC 6901) from an operation to its JSON body; forms have another.
const JSON_BODY: &str = "/requestBody/content/application~1json";

const EXAMPLE_REQUEST_ID: &str = "019b76da-a9f4-7e55-b0c1-2d3e4f506172";

/// Declares every problem once, in `components`, and references it from the operations.
///
/// Uses explicit statuses, because a `default` or `5XX` response breaks generators. Omits errors without a
/// body, such as hyper's 431, which would make every error possibly undefined in TypeScript.
pub(super) fn add_problems(document: &mut Value, base_url: &BaseUrl) {
    let mut shared = Map::new();
    for (path, operation) in operations_mut(document) {
        let codes = codes_of(&path, operation);
        let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
        if let Some(Value::Object(responses)) = operation.get_mut("responses") {
            // poem-openapi declares only the problem for defects.
            responses.retain(|_, response| response["content"].get(MEDIA_TYPE).is_none());
            for codes in codes.chunk_by(|one, other| status(*one) == status(*other)) {
                let (status, name) = (status(codes[0]), name_of(codes, &id));
                shared.entry(&name).or_insert_with(|| response(codes, base_url));
                refer_to(responses, &status, &name);
            }
            responses.sort_keys();
        }
    }
    shared.sort_keys();
    document["components"]["responses"] = Value::Object(shared);
}

fn refer_to(responses: &mut Map<String, Value>, status: &str, name: &str) {
    let reference = json!({"$ref": format!("#/components/responses/{name}")});
    responses.insert(status.to_owned(), reference);
}

/// The operation's codes, in the order of their statuses.
fn codes_of(path: &str, operation: &Value) -> Vec<Code> {
    let id = operation.get("operationId").and_then(Value::as_str);
    let schemes = operation.get("security").and_then(Value::as_array);
    let is_for = |scheme: &str| schemes.is_some_and(|all| all.iter().any(|one| one.get(scheme).is_some()));
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let takes = |name: &str| parameters.is_some_and(|all| all.iter().any(|one| one["name"] == name));
    let mut codes: Vec<Code> = Code::ALL
        .iter()
        .copied()
        .filter(|code| match code {
            Code::CredentialsMissing | Code::InvalidToken => is_for(authentication::SCHEME),
            Code::InvalidClient => is_for(verifier_authentication::SCHEME),
            Code::RateLimited => schemes.is_some() || id == Some("reportLeakedKeys"),
            // Except for the query and the storage, these also come from the front door, for any request.
            Code::MalformedRequest
            | Code::MalformedQuery
            | Code::BodyTooLarge
            | Code::Internal
            | Code::Unavailable
            | Code::OutcomeUnknown => true,
            Code::RequestTimeout | Code::UnsupportedMediaType => operation.get("requestBody").is_some(),
            Code::InvalidFields => operation.pointer(JSON_BODY).is_some(),
            // Without verifiers, there is nothing that they could ask.
            Code::NotFound => path.contains('{') || is_for(verifier_authentication::SCHEME),
            Code::KeyMayNotManageKeys | Code::KeyTreeTooDeep => {
                matches!(id, Some("createApiKey" | "rotateApiKey"))
            }
            Code::KeyLimitReached => id == Some("createApiKey"),
            Code::Forbidden => id == Some("authenticateRequest"),
            Code::KeyRevoked | Code::KeyMayNotExtendItself => {
                matches!(id, Some("updateApiKey" | "rotateApiKey"))
            }
            Code::KeyRotated => id == Some("updateApiKey"),
            Code::AlreadyRotated => id == Some("rotateApiKey"),
            Code::PreconditionFailed => takes("If-Match"),
            Code::AlreadyCreated | Code::InProgress | Code::IdempotencyKeyReused => takes("Idempotency-Key"),
            // A method that is not in the document has no operation, and GitHub's report is not in it.
            Code::MethodNotAllowed | Code::InvalidSignature => false,
        })
        .collect();
    codes.sort_by_key(|code| status(*code));
    codes
}

fn status(code: Code) -> String {
    code.definition().status.as_str().to_owned()
}

/// The name of a shared response, such as `BadRequest` or `CreateApiKeyConflict`. Some generators create a
/// type from it, so it must not change when codes are added. Conflicts, refusals other than the first one's,
/// and those of verifiers are named per operation, all others by status.
fn name_of(codes: &[Code], operation_id: &str) -> String {
    let status = codes[0].definition().status;
    let reason: String = status.canonical_reason().unwrap_or_default().split(' ').collect();
    let mut letters = operation_id.chars();
    let is_of_one_operation = status == StatusCode::CONFLICT
        || codes.contains(&Code::InvalidClient)
        || codes.contains(&Code::Forbidden)
        || codes.contains(&Code::KeyMayNotExtendItself)
        || codes.contains(&Code::IdempotencyKeyReused);
    match letters.next().filter(|_| is_of_one_operation) {
        Some(first) => format!("{}{}{reason}", first.to_uppercase(), letters.as_str()),
        None => reason,
    }
}

/// The response with one line and one example per code.
fn response(codes: &[Code], base_url: &BaseUrl) -> Value {
    let lines: Vec<String> = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.definition().word, code.definition().meaning))
        .collect();
    let examples: Map<String, Value> = codes
        .iter()
        .map(|code| {
            let example = json!({
                "summary": code.definition().title,
                "value": example(*code).to_json(EXAMPLE_REQUEST_ID, base_url),
            });
            (code.definition().word.to_owned(), example)
        })
        .collect();
    let mut response = json!({"description": lines.join("\n\n")});
    let mut headers = headers::of_problems(&status(codes[0]));
    if codes.contains(&Code::InProgress) {
        headers.insert(
            "Retry-After".to_owned(),
            headers::retry_after_of(Code::InProgress),
        );
    }
    if codes.contains(&Code::UnsupportedMediaType) {
        headers.insert("Accept-Encoding".to_owned(), headers::accept_encoding());
    }
    if !headers.is_empty() {
        response["headers"] = Value::Object(headers);
    }
    response["content"][MEDIA_TYPE] = json!({
        "schema": {"$ref": "#/components/schemas/Problem"},
        "examples": examples,
    });
    response
}

fn example(code: Code) -> Problem {
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
        Code::AlreadyCreated | Code::AlreadyRotated => {
            let hint = TokenHint::parse(resources::HINT).ok();
            let id = resources::API_KEY_ID.parse();
            id.map_or_else(|_| code.into(), |id| Problem::with_key(code, id, hint))
        }
        Code::InvalidClient => Problem::invalid_client(),
        other => other.into(),
    }
}
