//! Problem details (RFC 9457): all errors of the API.

mod answer;
mod code;
mod page;

use std::fmt::Display;

use keyward_domain::api_key::CannotExtendLife;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::StorageError;
use keyward_domain::rate::{Rate, Throttled};
use keyward_domain::token::TokenHint;
use keyward_rate_limits::Exceeded;
use poem::error::ResponseError;
use poem::http::StatusCode;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::{ToJSON, Type};
use poem_openapi::{ApiResponse, Object};
use serde::Serialize;

pub(crate) use answer::ProblemAnswers;
pub use answer::{exceeded_limit, operation_id, problem_code, problem_response, unavailable_response};
pub(crate) use code::{Code, ProblemType};
pub(crate) use page::problem_page;

use crate::base_url::BaseUrl;
use crate::paths;
use crate::rate_limit_fields::ExceededLimit;

/// The media type of problems (RFC 9457, section 3).
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// An error to be sent to the client.
#[derive(Debug, thiserror::Error)]
#[error("{}: {detail}", .code.definition().word)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
    errors: Vec<FieldError>,
    /// The key that a repeated request created the first time, and how to recognize its token.
    created: Option<Box<(ApiKeyId, Option<TokenHint>)>>,
    /// The error code of OAuth 2.0 (RFC 6749, section 5.2), for clients of introspection.
    oauth_error: Option<OAuthError>,
    /// The value of `Retry-After` in seconds, if specific to this request.
    retry_after: Option<i64>,
    /// The answer reports it in the fields `RateLimit` and `RateLimit-Policy`. Only set with status 429.
    exceeded: Option<Box<ExceededLimit>>,
    /// The value of `Accept-Encoding` (RFC 9110 §12.5.3), if the request's content coding was refused.
    accept_encoding: Option<&'static str>,
    /// The cause, for the log only.
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// An error code of OAuth 2.0 (RFC 6749, section 5.2).
#[derive(Debug, Clone, Copy)]
enum OAuthError {
    InvalidRequest,
    InvalidClient,
}

impl OAuthError {
    const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
        }
    }
}

/// An error in one field of a request body.
#[derive(Debug, Clone, PartialEq, Eq, Object, Serialize)]
pub(crate) struct FieldError {
    /// JSON Pointer (RFC 6901) to the field in the body.
    pub(crate) pointer: String,
    /// A human-readable explanation of the error.
    pub(crate) detail: String,
}

/// An error (RFC 9457).
#[derive(Object, Serialize)]
#[serde(rename_all = "camelCase")]
#[oai(rename = "Problem", rename_all = "camelCase", skip_serializing_if_is_none)]
pub(crate) struct ProblemDocument {
    /// The URL of a page of this service that explains the problem and what to do; relative if the service
    /// does not know its own URL.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    /// A short, human-readable summary of the kind of problem.
    title: String,
    /// The HTTP status code.
    status: i32,
    /// A human-readable explanation of this occurrence of the problem.
    detail: String,
    /// The kind of problem in one stable word, for programs. Later versions may add codes.
    code: String,
    /// The identifier of this request in the logs of the service.
    request_id: String,
    /// For `invalid_fields`: the errors in the fields of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<FieldError>>,
    /// For `already_created` and `already_rotated`: the `id` of the key that the earlier request created.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// For `already_created` and `already_rotated`: the `hint` of that key. Its token is not shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// For introspection: the error code of OAuth 2.0 (RFC 6749, section 5.2), `invalid_request` or
    /// `invalid_client`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Problem {
    pub(crate) fn with_detail(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            created: None,
            oauth_error: None,
            retry_after: None,
            exceeded: None,
            accept_encoding: None,
            source: None,
        }
    }

    /// The response to a compressed body, which is not supported.
    pub(crate) fn unsupported_content_coding() -> Self {
        Self {
            accept_encoding: Some("identity"),
            ..Self::with_detail(
                Code::UnsupportedMediaType,
                "The body of a request must not be compressed: send it without `Content-Encoding`.",
            )
        }
    }

    /// The response to a body of another type than the operation takes.
    pub(crate) fn unexpected_media_type(expected: &str) -> Self {
        let detail =
            format!("The body of this request must have the header `Content-Type: {expected}`, once.");
        Self::with_detail(Code::UnsupportedMediaType, detail)
    }

    /// The response to introspection with a form that cannot be read.
    pub(crate) fn malformed_form(detail: impl Into<String>) -> Self {
        Self {
            oauth_error: Some(OAuthError::InvalidRequest),
            ..Self::with_detail(Code::MalformedRequest, detail)
        }
    }

    /// The response to introspection without the credentials of a verifier.
    pub(crate) fn invalid_client() -> Self {
        Self {
            oauth_error: Some(OAuthError::InvalidClient),
            ..Self::from(Code::InvalidClient)
        }
    }

    /// The response to introspection where there are no verifiers.
    pub(crate) fn no_verifiers() -> Self {
        Self::with_detail(
            Code::NotFound,
            "This installation has no verifiers, so tokens cannot be introspected: its operator names them with the option \
             `--verifiers`.",
        )
    }

    /// The response to a report of GitHub where none of its keys is known.
    pub(crate) fn no_github_keys() -> Self {
        Self::with_detail(
            Code::NotFound,
            "This installation has no keys of GitHub, so it takes no reports from there: its operator names their file with \
             the option `--github-keys`. Anyone can report leaked keys at `/api/v1/leaked-keys`.",
        )
    }

    /// The response to a body of which one field turned out to be invalid as it was acted on.
    pub(crate) fn invalid_field(name: &str, problem: impl Display) -> Self {
        Self::invalid_fields(vec![FieldError {
            pointer: format!("/{name}"),
            detail: problem.to_string(),
        }])
    }

    pub(crate) fn invalid_fields(errors: Vec<FieldError>) -> Self {
        Self {
            errors,
            ..Self::from(Code::InvalidFields)
        }
    }

    /// An earlier request created this key.
    pub(crate) fn with_key(code: Code, id: ApiKeyId, hint: Option<TokenHint>) -> Self {
        Self {
            created: Some(Box::new((id, hint))),
            ..Self::from(code)
        }
    }

    /// A key's planned end cannot be postponed or removed.
    pub(crate) fn cannot_extend_life(refusal: CannotExtendLife) -> Self {
        match refusal {
            CannotExtendLife::OfItself => Code::KeyMayNotExtendItself.into(),
            CannotExtendLife::OfRotatedKey => Code::KeyRotated.into(),
            CannotExtendLife::BeyondLongestLife(_) => Self::invalid_field("expiresAt", refusal),
        }
    }

    /// The same request is being handled; a repetition soon gets its outcome.
    pub(crate) fn in_progress() -> Self {
        Self {
            retry_after: Some(1),
            ..Self::from(Code::InProgress)
        }
    }

    /// The consumer exceeded its rate limit for creating and editing keys.
    pub(crate) fn throttled(throttled: Throttled, rate: Rate) -> Self {
        let seconds = throttled.whole_seconds();
        Self {
            exceeded: Some(Box::new(ExceededLimit::OfChanges { rate, seconds })),
            ..Self::rate_limited(
                seconds,
                "Keys were created and edited too often. Nothing was changed.",
            )
        }
    }

    /// The address sent too many credentials that are not accepted, of which these are one more.
    pub(crate) fn too_many_failures(exceeded: Exceeded) -> Self {
        Self {
            exceeded: Some(Box::new(ExceededLimit::OfRequests(exceeded))),
            ..Self::rate_limited(
                exceeded.retry_after().into(),
                "The credentials are not accepted, and this address has sent too many such ones. Keys that are accepted are not \
                 limited by that.",
            )
        }
    }

    /// A configured limit of requests is exceeded.
    pub(crate) fn too_many_requests(exceeded: Exceeded) -> Self {
        let limit = exceeded.limit();
        let detail = format!("There were too many requests for one {limit}. Nothing was changed.");
        Self {
            exceeded: Some(Box::new(ExceededLimit::ReportedByEveryAnswer(exceeded))),
            ..Self::rate_limited(exceeded.retry_after().into(), detail)
        }
    }

    fn rate_limited(seconds: i64, detail: impl Into<String>) -> Self {
        Self {
            retry_after: Some(seconds),
            ..Self::with_detail(Code::RateLimited, detail)
        }
    }

    /// The address reported leaked keys too often.
    pub(crate) fn too_frequent_leak_reports(exceeded: Exceeded) -> Self {
        Self {
            exceeded: Some(Box::new(ExceededLimit::ReportedByEveryAnswer(exceeded))),
            ..Self::rate_limited(
                exceeded.retry_after().into(),
                "This address has sent too many reports: put up to 100 tokens into each.",
            )
        }
    }

    /// A defect, whose cause is not shown to clients.
    pub(crate) fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..Self::from(Code::Internal)
        }
    }

    /// The response for a key that does not exist or belongs to another consumer; the two cannot be
    /// distinguished.
    pub(crate) fn no_such_key() -> Self {
        Self::with_detail(Code::NotFound, "There is no such API key.")
    }

    /// The response for a project that does not exist or is out of the calling key's reach; the two cannot be
    /// distinguished.
    pub(crate) fn no_such_project() -> Self {
        Self::with_detail(Code::NotFound, "There is no such project.")
    }

    /// The response for a malformed identifier in a path.
    pub(crate) fn nothing_named(path: &str) -> Self {
        if path.starts_with(paths::PROJECTS) {
            Self::no_such_project()
        } else {
            Self::no_such_key()
        }
    }

    pub(crate) fn document(&self, request_id: &str, base_url: &BaseUrl) -> ProblemDocument {
        let definition = self.code.definition();
        ProblemDocument {
            kind: base_url.link(paths::problem(definition.word)),
            title: definition.title.to_owned(),
            status: i32::from(definition.status.as_u16()),
            detail: self.detail.clone(),
            code: definition.word.to_owned(),
            request_id: request_id.to_owned(),
            errors: (!self.errors.is_empty()).then(|| self.errors.clone()),
            id: self.created.as_deref().map(|(id, _)| id.to_string()),
            hint: self
                .created
                .as_deref()
                .and_then(|(_, hint)| hint.as_ref().map(|hint| hint.as_str().to_owned())),
            error: self.oauth_error.map(|error| error.as_str().to_owned()),
        }
    }

    /// The body of the response, of type `application/problem+json` (RFC 9457).
    pub(crate) fn to_json(&self, request_id: &str, base_url: &BaseUrl) -> serde_json::Value {
        self.document(request_id, base_url).to_json().unwrap_or_default()
    }
}

impl From<Code> for Problem {
    fn from(code: Code) -> Self {
        Self::with_detail(code, code.definition().meaning)
    }
}

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        let code = match &error {
            StorageError::Unavailable(_) => Code::Unavailable,
            StorageError::OutcomeUnknown(_) => Code::OutcomeUnknown,
            StorageError::Corrupt { .. } | StorageError::Defect(_) => Code::Internal,
        };
        Self {
            source: Some(error.into()),
            ..Self::from(code)
        }
    }
}

impl ResponseError for Problem {
    fn status(&self) -> StatusCode {
        self.code.definition().status
    }
}

/// Declares the problem for defects, which any operation can return; `document` adds the others.
impl ApiResponse for Problem {
    fn meta() -> MetaResponses {
        MetaResponses {
            responses: vec![MetaResponse {
                description: Code::Internal.definition().meaning,
                status: Some(Code::Internal.definition().status.as_u16()),
                status_range: None,
                content: vec![MetaMediaType {
                    content_type: MEDIA_TYPE,
                    schema: ProblemDocument::schema_ref(),
                }],
                headers: vec![],
            }],
        }
    }

    fn register(registry: &mut Registry) {
        ProblemDocument::register(registry);
    }
}
