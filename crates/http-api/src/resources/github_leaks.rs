//! `/api/v1/leaked-keys/github`: reports in the format of GitHub's secret scanning partner program. The contract is GitHub's,
//! so it is not in the OpenAPI document.

use keyward_domain::leaked_keys::{LeakedToken, Reported, RevokeLeakedKeys};
use poem::http::HeaderMap;
use poem::{FromRequest, IntoResponse, Request, RequestBody, Response};
use poem_openapi::registry::{MetaResponses, Registry};
use poem_openapi::{ApiResponse, OpenApi};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::leaked_keys::all_dealt_with;
use crate::json::{self, WrittenJson};
use crate::paths::GITHUB_LEAKS;
use crate::problem::{Code, Problem};
use crate::rate_limits::Attempt;
use crate::request::{QueryNames, read_body};
use crate::request_id::Source;
use crate::services::{Services, Using};

pub(crate) struct GitHubLeaksResource;

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
        Using(leaks): Using<&RevokeLeakedKeys>,
        source: Source,
        body: SignedBody,
    ) -> Result<Feedback, Problem> {
        query.only(&[])?;
        let matches: Vec<SecretMatch> = serde_json::from_slice(&body.0).map_err(|error| malformed(&error))?;
        let found = matches.iter().map(|found| {
            let kind = found.source.as_deref().unwrap_or_default();
            let kind = kind.replace('_', " ").to_lowercase();
            let place = found.url.as_deref().unwrap_or_default();
            LeakedToken::parse(&found.token, place, &kind, source.0.clone())
        });
        let found: Vec<Option<LeakedToken>> = found.collect();
        let are_tokens: Vec<bool> = found.iter().map(Option::is_some).collect();
        let reported = leaks.revoke(found.into_iter().flatten().collect()).await;
        let mut reported = all_dealt_with(reported)?.into_iter();
        let feedback = matches.into_iter().zip(are_tokens).map(|(found, is_token)| {
            let reported = is_token.then(|| reported.next()).flatten();
            SecretFeedback::of(found, reported.unwrap_or(Reported::Unknown))
        });
        Ok(Feedback(feedback.collect()))
    }
}

/// Extracts a body that GitHub has signed, byte by byte.
struct SignedBody(Vec<u8>);

impl<'a> FromRequest<'a> for SignedBody {
    /// A body that is not signed counts like a token that is not accepted.
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let services = Services::of(request)?;
        let keys = services
            .github_keys
            .as_ref()
            .ok_or_else(Problem::no_github_keys)?;
        let bytes = read_body(request, body, json::MEDIA_TYPE).await?;
        let keys = keys.now();
        let identifier = only_line(request.headers(), "github-public-key-identifier");
        let signature = only_line(request.headers(), "github-public-key-signature");
        let detail = match identifier.zip(signature) {
            Some((identifier, signature)) if keys.is_signed(identifier, signature, &bytes) => {
                return Ok(Self(bytes));
            }
            Some((identifier, _)) if keys.has(identifier) => {
                "The signature is not one of this body by this key."
            }
            Some(_) => {
                "No key that is configured here has the identifier in `Github-Public-Key-Identifier`. If GitHub has new \
                 keys, the operator of the installation must add them."
            }
            None => {
                "`Github-Public-Key-Identifier` and `Github-Public-Key-Signature` must each be sent once."
            }
        };
        Attempt::of(request, &services.gate.rate_limits).failed()?;
        Err(Problem::with_detail(Code::InvalidSignature, detail).into())
    }
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

/// A token that GitHub found.
#[derive(Deserialize)]
struct SecretMatch {
    token: String,
    /// How GitHub calls tokens of this service.
    #[serde(rename = "type")]
    kind: Option<String>,
    url: Option<String>,
    /// What kind of place that is, such as `Pull_request_comment`.
    source: Option<String>,
}

/// What GitHub is told.
struct Feedback(Vec<SecretFeedback>);

/// Whether a token is one of a key, which may have ended before.
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
