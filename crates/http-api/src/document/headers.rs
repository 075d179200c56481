//! Shared response headers, declared once and referenced.

use serde_json::{Map, Value, json};

use super::operations::operations_mut;
use crate::problem::Code;

const REQUEST_ID: &str = "RequestId";
const RATE_LIMIT: &str = "RateLimit";
const RATE_LIMIT_POLICY: &str = "RateLimitPolicy";
const RETRY_AFTER: &str = "RetryAfter";
const WWW_AUTHENTICATE: &str = "WwwAuthenticate";

/// Declares the shared headers, and adds to every response the request id, and the fields of the limits that
/// may have counted its request.
pub(super) fn add_headers(document: &mut Value) {
    for (_, operation) in operations_mut(document) {
        if let Some(Value::Object(responses)) = operation.get_mut("responses") {
            for response in responses
                .values_mut()
                .filter(|response| response.get("$ref").is_none())
            {
                response["headers"]["RateLimit"] = reference(RATE_LIMIT);
                response["headers"]["RateLimit-Policy"] = reference(RATE_LIMIT_POLICY);
                response["headers"]["X-Request-Id"] = reference(REQUEST_ID);
            }
        }
    }
    document["components"]["headers"] = json!({
        REQUEST_ID: {
            "description": "Identifies this request in the logs of the service. Errors repeat it as `requestId`.",
            "required": true,
            "schema": {"type": "string"},
        },
        RATE_LIMIT: {
            "description": "For each limit that counted the request, how many more are allowed (`r`) and after how many seconds \
                            one more is (`t`): a list of structured fields (RFC 9651) as \
                            draft-ietf-httpapi-ratelimit-headers defines it. Absent where no limit counted it; `failed-authentication` \
                            and `changes` are named with 429 only.",
            "schema": {"type": "string"},
            "example": "\"key\";r=599;t=1",
        },
        RATE_LIMIT_POLICY: {
            "description": "Each of these limits: how many requests (`q`) it allows in how many seconds (`w`).",
            "schema": {"type": "string"},
            "example": "\"key\";q=600;w=60",
        },
        RETRY_AFTER: {
            "description": "Seconds to wait before trying again.",
            "required": true,
            "schema": {"type": "integer", "format": "int32", "minimum": 0},
        },
        WWW_AUTHENTICATE: {
            "description": "The expected scheme, and why the credentials were refused (RFC 6750, RFC 7617).",
            "required": true,
            "schema": {"type": "string"},
        },
    });
}

/// References to the shared headers that a problem has with a status such as `429`, by header name.
pub(super) fn of_problems(status: &str) -> Map<String, Value> {
    let mut headers = Map::new();
    let mut declare = |name: &str, header| _ = headers.insert(name.to_owned(), reference(header));
    if status == "401" {
        // Requests without authentication are counted by no limit of requests.
        declare("WWW-Authenticate", WWW_AUTHENTICATE);
    } else {
        declare("RateLimit", RATE_LIMIT);
        declare("RateLimit-Policy", RATE_LIMIT_POLICY);
    }
    if matches!(status, "429" | "503") {
        declare("Retry-After", RETRY_AFTER);
    }
    declare("X-Request-Id", REQUEST_ID);
    headers
}

/// `Accept-Encoding` of a response that has it where the content coding of the request was refused.
pub(super) fn accept_encoding() -> Value {
    json!({
        "description": "If the body had a `Content-Encoding`: the content codings that are accepted, which is `identity`.",
        "schema": {"type": "string"},
    })
}

/// `Retry-After` of a response that has it with one of its codes only.
pub(super) fn retry_after_of(code: Code) -> Value {
    json!({
        "description": format!("With `{}`: seconds to wait before trying again.", code.definition().word),
        "schema": {"type": "integer", "format": "int32", "minimum": 0},
    })
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/headers/{name}")})
}
