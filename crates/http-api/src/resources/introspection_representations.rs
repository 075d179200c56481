//! The request and the response of introspection. The members have the names of RFC 7662 §2.2, or similar
//! ones.

use keyward_domain::introspection::ActiveToken;
use poem_openapi::Object;
use poem_openapi::types::Example;
use serde::Serialize;
use zeroize::Zeroizing;

use super::examples;
use super::project_representations::ProjectItem;
use super::user::OrganizationSummary;
use crate::problem::Problem;
use crate::request::{Form, ReadForm};

/// The form of an introspection request. Unknown parameters are ignored, but none may be repeated.
#[derive(Object)]
#[oai(rename = "IntrospectionRequest", skip_serializing_if_is_none, example)]
pub(crate) struct IntrospectionRequest {
    /// The token, as the client sent it.
    token: String,
    /// Ignored: all tokens are API keys.
    token_type_hint: Option<String>,
}

impl ReadForm for IntrospectionRequest {
    type Read = Zeroizing<String>;

    fn read(form: &Form) -> Result<Self::Read, Problem> {
        form.required("token")
            .map(|token| Zeroizing::new(token.to_owned()))
    }
}

/// The state of a token (RFC 7662). All members but `active` are absent if the token is not active.
#[derive(Object, Serialize, Default)]
#[oai(rename = "Introspection", skip_serializing_if_is_none, example)]
pub(crate) struct Introspection {
    /// Whether the token is accepted now.
    active: bool,
    /// The ID of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    /// The name the user signs in with.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// The consumer that the key acts as: one user's membership in one organization. Other resources call it
    /// `consumerId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    /// Always `Bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<String>,
    /// When the key was created, in seconds since 1970-01-01T00:00:00Z.
    #[serde(skip_serializing_if = "Option::is_none")]
    iat: Option<i64>,
    /// When the key expires or its user's membership ends, in seconds since 1970-01-01T00:00:00Z, rounded
    /// down. Absent if neither is planned. The key may be revoked sooner.
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<i64>,
    /// The ID of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    /// The organization of the consumer.
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<OrganizationSummary>,
    /// The projects that the key has access to, newest first; at most 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    projects: Option<Vec<ProjectItem>>,
    /// Whether the key has access to more projects than these: ask `/api/v1/auth` about a certain one.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_projects: Option<bool>,
}

impl Introspection {
    /// The description of a token; only `active` if it is not active.
    pub(crate) fn of(active: Option<&ActiveToken>) -> Self {
        let Some(ActiveToken { caller, projects }) = active else {
            return Self::default();
        };
        Self {
            active: true,
            sub: Some(caller.consumer().user_id.to_string()),
            username: Some(caller.consumer().username.to_string()),
            client_id: Some(caller.consumer().id.to_string()),
            token_type: Some("Bearer".to_owned()),
            iat: Some(caller.api_key().created_at.timestamp()),
            exp: caller.accepted_until().map(|end| end.timestamp()),
            jti: Some(caller.api_key().id.to_string()),
            organization: Some(OrganizationSummary::of(caller.organization())),
            projects: Some(projects.items.iter().map(ProjectItem::from).collect()),
            more_projects: Some(projects.next.is_some()),
        }
    }
}

impl Example for IntrospectionRequest {
    fn example() -> Self {
        Self {
            token: examples::TOKEN.to_owned(),
            token_type_hint: None,
        }
    }
}

impl Example for Introspection {
    fn example() -> Self {
        Self {
            active: true,
            sub: Some(examples::USER_ID.to_owned()),
            username: Some("ada".to_owned()),
            client_id: Some(examples::CONSUMER_ID.to_owned()),
            token_type: Some("Bearer".to_owned()),
            iat: Some(examples::moment().timestamp()),
            exp: Some(examples::expiry().timestamp()),
            jti: Some(examples::API_KEY_ID.to_owned()),
            organization: Some(OrganizationSummary::example()),
            projects: Some(vec![ProjectItem::example()]),
            more_projects: Some(false),
        }
    }
}
