//! `/api/v1/leaked-keys/github`: reports in the format of GitHub's secret scanning partner program. The contract is GitHub's,
//! so it is not in the OpenAPI document.

use keyward_domain::leaked_keys::{LeakedToken, Reported};
use keyward_rate_limits::ClientNetwork;
use poem::http::HeaderMap;
use poem::{FromRequest, IntoResponse, Request, RequestBody, Response};
use poem_openapi::registry::{MetaResponses, Registry};
use poem_openapi::{ApiResponse, OpenApi};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use tracing::warn;

use super::leaked_keys::all_dealt_with;
use crate::json::{self, WrittenJson};
use crate::large_reports::{LargeReports, Room};
use crate::paths::GITHUB_LEAKS;
use crate::problem::{Code, Problem};
use crate::rate_limits::Attempt;
use crate::request::{QueryNames, read_larger_body};
use crate::request_id::{Source, client_address};
use crate::services::Services;

pub(crate) struct GitHubLeaksResource;

/// The maximum size of a report. GitHub names no maximum, only that a report may have a large number of matches: this is room
/// for 1,000 with a kilobyte each, which is a token and a long URL.
const MAX_BYTES: usize = 1024 * 1024;

/// The paths that accept larger bodies than all others, with their maximum size in bytes. Layers in front of
/// the API must not limit these bodies further.
pub const LARGER_BODIES: &[(&str, usize)] = &[(GITHUB_LEAKS, MAX_BYTES)];

#[OpenApi(prefix_path = GITHUB_LEAKS)]
impl GitHubLeaksResource {
    /// Revokes the keys before it answers, as for other reports.
    #[oai(
        path = "/",
        method = "post",
        operation_id = "reportLeakedKeysAsGitHub",
        hidden = true
    )]
    async fn post(
        &self,
        query: QueryNames,
        services: &Services,
        source: Source,
        body: SignedBody<'_>,
    ) -> Result<Feedback, Problem> {
        query.only(&[])?;
        let matches = matches(&body.bytes)?;
        let found = matches.iter().map(|found| {
            let kind = found.source.as_deref().unwrap_or_default();
            let kind = kind.replace('_', " ").to_lowercase();
            let place = found.url.as_deref().unwrap_or_default();
            LeakedToken::parse(&found.token, place, &kind, source.0.clone()).map(LeakedToken::by_github)
        });
        let found: Vec<Option<LeakedToken>> = found.collect();
        let are_tokens: Vec<bool> = found.iter().map(Option::is_some).collect();
        let found: Vec<LeakedToken> = found.into_iter().flatten().collect();
        let count = found.len();
        let reported = services.api.leaks.revoke(found).await;
        let mut reported = all_dealt_with(reported, count)?.into_iter();
        let feedback = matches.into_iter().zip(are_tokens).map(|(found, is_token)| {
            let reported = is_token.then(|| reported.next()).flatten();
            SecretFeedback::of(found, reported.unwrap_or(Reported::Unknown))
        });
        Ok(Feedback(feedback.collect()))
    }
}

/// The matches of a report. What is none, because it has no token, is left out, so that the others are dealt with: GitHub
/// takes feedback about tokens only.
fn matches(body: &[u8]) -> Result<Vec<SecretMatch>, Problem> {
    let read: Vec<Element> = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let all = read.len();
    let matches: Vec<SecretMatch> = read.into_iter().filter_map(Element::into_match).collect();
    let left_out = all - matches.len();
    if left_out > 0 {
        warn!(left_out, "a report of GitHub has matches without a token");
    }
    if left_out > 0 && matches.is_empty() {
        return Err(Problem::with_detail(
            Code::MalformedRequest,
            "The body must be a JSON array of objects, each with a string `token`; none of its elements is one.",
        ));
    }
    Ok(matches)
}

/// Extracts a body that GitHub has signed, byte by byte.
struct SignedBody<'a> {
    bytes: Vec<u8>,
    /// Given back once the report is dealt with.
    _room: Option<Room<'a>>,
}

impl<'a> FromRequest<'a> for SignedBody<'a> {
    /// A body that is not signed, or that does not arrive in full, counts like a token that is not accepted. So does a
    /// large one from an address that was refused lately, even if it is signed.
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let services = Services::of(request)?;
        let keys = services.api.github_keys.as_ref();
        let keys = keys.ok_or_else(Problem::no_github_keys)?.now();
        let identifier = only_line(request.headers(), "github-public-key-identifier");
        let signature = only_line(request.headers(), "github-public-key-signature");
        let attempt = Attempt::of(request, &services.api.rate_limits);
        let refused = async |detail| {
            attempt.failed().await?;
            Err(Problem::with_detail(Code::InvalidSignature, detail).into())
        };
        // Before the body, which may be large and slow.
        let Some((identifier, signature)) = identifier.zip(signature) else {
            return refused(
                "`Github-Public-Key-Identifier` and `Github-Public-Key-Signature` must each be sent once.",
            )
            .await;
        };
        if !keys.has(identifier) {
            return refused(
                "No key that is configured here has the identifier in `Github-Public-Key-Identifier`. If GitHub has new \
                 keys, the operator of the installation must add them.",
            )
            .await;
        }
        attempt.begins();
        let room = || room(request, &services.large_reports, &attempt);
        let (bytes, room) = read_larger_body(MAX_BYTES, request, body, json::MEDIA_TYPE, room).await?;
        if !keys.is_signed(identifier, signature, &bytes) {
            return refused("The signature is not one of this body by this key.").await;
        }
        attempt.ended();
        Ok(Self { bytes, _room: room })
    }
}

/// Room for a large body, none for an address whose attempts fail too often.
fn room<'a>(
    request: &Request,
    reports: &'a LargeReports,
    attempt: &Attempt<'_>,
) -> Result<Room<'a>, Problem> {
    attempt.refuse_beyond_limit()?;
    let client = client_address(request).map(ClientNetwork::from);
    reports.room(client).ok_or_else(|| {
        // That may be for others' reports.
        attempt.ended();
        Problem::with_detail(
            Code::Unavailable,
            "Too many reports over 64 KiB are in progress, from this address or in total. Send the report again after \
             `Retry-After` seconds.",
        )
    })
}

fn only_line<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut lines = headers.get_all(name).iter();
    let line = lines.next().filter(|_| lines.next().is_none());
    line?.to_str().ok()
}

/// The message of the cause may repeat a token.
fn malformed(error: &serde_json::Error) -> Problem {
    let detail = format!(
        "The body must be a JSON array of objects, each with a string `token`; it is wrong at line {}, column {}.",
        error.line(),
        error.column()
    );
    Problem::with_detail(Code::MalformedRequest, detail)
}

/// An element of a report.
#[derive(Deserialize)]
#[serde(untagged)]
enum Element {
    Match(SecretMatch),
    Other(IgnoredAny),
}

impl Element {
    fn into_match(self) -> Option<SecretMatch> {
        match self {
            Self::Match(found) => Some(found),
            Self::Other(IgnoredAny) => None,
        }
    }
}

/// A token that GitHub found. All other members are optional.
#[derive(Deserialize)]
struct SecretMatch {
    token: String,
    /// GitHub's name for tokens of this service.
    #[serde(rename = "type", default, deserialize_with = "text_or_none")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "text_or_none")]
    url: Option<String>,
    /// The kind of that place, such as `Pull_request_comment`.
    #[serde(default, deserialize_with = "text_or_none")]
    source: Option<String>,
}

/// A string; `None` for any other JSON value.
fn text_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        Text(String),
        Other(IgnoredAny),
    }
    Ok(match Value::deserialize(deserializer)? {
        Value::Text(text) => Some(text),
        Value::Other(IgnoredAny) => None,
    })
}

/// The response to GitHub.
struct Feedback(Vec<SecretFeedback>);

/// Whether a token belongs to a key, which may have ended before the report.
#[derive(Serialize)]
struct SecretFeedback {
    /// The SHA-256 of the token, in hexadecimal.
    token_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<String>,
    label: &'static str,
}

impl SecretFeedback {
    fn of(found: SecretMatch, reported: Reported) -> Self {
        Self {
            token_hash: hex::encode(Sha256::digest(&found.token)),
            token_type: found.kind,
            label: match reported {
                Reported::Revoked | Reported::Ended => "true_positive",
                Reported::Unknown => "false_positive",
            },
        }
    }
}

impl IntoResponse for Feedback {
    fn into_response(self) -> Response {
        WrittenJson(self.0).into_response()
    }
}

impl ApiResponse for Feedback {
    fn meta() -> MetaResponses {
        MetaResponses {
            responses: Vec::new(),
        }
    }

    fn register(_registry: &mut Registry) {}
}
