//! `/api/v1/auth`

use std::fmt::{self, Write as _};

use bytes::BytesMut;
use keyward_domain::id::ProjectId;
use poem::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use poem::{IntoResponse, Response};
use poem_openapi::registry::{MetaHeader, MetaResponse, MetaResponses, MetaSchema, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiResponse, OpenApi};

use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::forward_auth::PROJECT;
use crate::paths::FORWARD_AUTH;
use crate::problem::{Code, Problem};
use crate::request::{QueryNames, QueryParameter, QueryValue};
use crate::services::Services;

pub(crate) struct AuthResource;

/// The key is accepted. Holds the values of [`IDENTITY`], in the same order.
pub(crate) struct AuthenticatedRequest([HeaderValue; IDENTITY.len()]);

/// The headers of most answers, with those that every answer has: the map has room for them at once.
const USUAL_HEADERS: usize = 16;

/// The bytes of most identities: three identifiers and two names.
const USUAL_IDENTITY: usize = 160;

/// The headers that give a service behind the gateway the identity that the key acts as, with their
/// descriptions in the document.
static IDENTITY: [(HeaderName, &str); 5] = [
    (
        HeaderName::from_static("x-consumer-id"),
        "The `consumerId` of the key.",
    ),
    (
        HeaderName::from_static("x-consumer-username"),
        "The `username` of the user that the key acts as.",
    ),
    (
        HeaderName::from_static("x-credential-identifier"),
        "The `id` of the key.",
    ),
    (
        HeaderName::from_static("x-organization-id"),
        "The `id` of the organization.",
    ),
    (
        HeaderName::from_static("x-organization-slug"),
        "The `slug` of the organization.",
    ),
];

impl IntoResponse for AuthenticatedRequest {
    fn into_response(self) -> Response {
        let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
        for ((name, _), value) in IDENTITY.iter().zip(self.0) {
            headers.insert(name, value);
        }
        let mut response = Response::default();
        *response.headers_mut() = headers;
        response
    }
}

/// By hand, since the derived one reads the names of the headers anew with each answer.
impl ApiResponse for AuthenticatedRequest {
    fn meta() -> MetaResponses {
        let headers = IDENTITY.iter().map(|(name, description)| MetaHeader {
            name: name.to_string(),
            description: Some((*description).to_owned()),
            required: true,
            deprecated: false,
            schema: String::schema_ref(),
        });
        MetaResponses {
            responses: vec![MetaResponse {
                description: "The key is accepted. The headers identify its user and organization, for the service behind the gateway.",
                status: Some(StatusCode::OK.as_u16()),
                status_range: None,
                content: vec![],
                headers: headers.collect(),
            }],
        }
    }

    fn register(_registry: &mut Registry) {}
}

#[OpenApi(prefix_path = FORWARD_AUTH, tag = "Tag::Verification")]
impl AuthResource {
    /// Authenticate a request
    ///
    /// For gateways (nginx `auth_request`, Caddy `forward_auth`, Envoy `ext_authz` and the like), which pass
    /// a request on only if the response to this one is 200, and then add its headers to it. Clients that
    /// want to know which user a key acts as get the current user instead.
    ///
    /// Every method but `TRACE` and `CONNECT`, which get 405, gets the same response, and so does every path
    /// below this one, which may be the path of the request in question; one with dot segments gets 404. Of
    /// the query there, only `project` is read. The body is never read. A preflight (`OPTIONS`) without a key
    /// gets 401: let the gateway answer preflights itself.
    #[oai(path = "/", method = "get", operation_id = "authenticateRequest")]
    async fn get(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        /// The `id` of a project that the user must be a member of; without it, any accepted key passes.
        project: QueryParameter<ProjectId>,
    ) -> Result<AuthenticatedRequest, Problem> {
        query.only(&[PROJECT])?;
        let caller = authenticated.0;
        if let Some(id) = project.0 {
            let projects = &services.api.projects;
            let found = projects
                .find(caller.consumer().id, id, caller.accepted_at())
                .await?;
            found.ok_or(Code::Forbidden)?;
        }
        let mut texts = BytesMut::with_capacity(USUAL_IDENTITY);
        Ok(AuthenticatedRequest([
            header_value(caller.consumer().id, &mut texts)?,
            header_value(&caller.consumer().username, &mut texts)?,
            header_value(caller.api_key().id, &mut texts)?,
            header_value(caller.organization().id, &mut texts)?,
            header_value(&caller.organization().slug, &mut texts)?,
        ]))
    }
}

/// A header's value, in memory that it shares with the ones before and after it. Nothing but visible ASCII
/// characters means the same to every gateway and service: an identity that cannot be told is refused instead.
fn header_value(value: impl fmt::Display, texts: &mut BytesMut) -> Result<HeaderValue, Problem> {
    let is_visible =
        |value: &HeaderValue| !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_graphic);
    let written = write!(texts, "{value}").ok();
    let value = written.and_then(|()| HeaderValue::from_maybe_shared(texts.split().freeze()).ok());
    value
        .filter(is_visible)
        .ok_or_else(|| Problem::internal("a name has characters that no header can have"))
}

impl QueryValue for ProjectId {
    fn schema() -> MetaSchema {
        MetaSchema::new("string")
    }

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| {
            "must be the `id` of a project, such as `GET /api/v1/user/projects` lists them".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::header_value;

    #[test]
    fn control_and_other_than_ascii_characters_are_refused() {
        for text in [
            "",
            "a b",
            "a\tb",
            "a\r\nX-Consumer-ID: 1",
            "a\nb",
            "a\0",
            "\u{7f}",
            "ädä",
            "\u{feff}",
        ] {
            assert!(header_value(text, &mut BytesMut::new()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn values_in_the_same_memory_are_told_apart() {
        let mut texts = BytesMut::new();
        let values = ["ada.l-1_x", "7", "acme"].map(|text| header_value(text, &mut texts).unwrap());
        assert_eq!(values, ["ada.l-1_x", "7", "acme"]);
    }
}
