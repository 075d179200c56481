//! `/api/v1/auth`

use std::fmt;

use keyward_domain::id::ProjectId;
use keyward_domain::ports::ReachableProjects;
use poem_openapi::registry::MetaSchema;
use poem_openapi::{ApiResponse, OpenApi};

use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::forward_auth::PROJECT;
use crate::paths::FORWARD_AUTH;
use crate::problem::{Code, Problem};
use crate::request::{QueryNames, QueryParameter, QueryValue};
use crate::services::Using;

pub(crate) struct AuthResource;

#[derive(ApiResponse)]
pub(crate) enum AuthenticatedRequest {
    /// The key is accepted. The headers say whom it acts as, for the service behind the gateway.
    #[oai(status = 200)]
    Accepted(
        /// The `consumerId` of the key.
        #[oai(header = "X-Consumer-ID")]
        String,
        /// The `username` of the user that the key acts as.
        #[oai(header = "X-Consumer-Username")]
        String,
        /// The `id` of the key.
        #[oai(header = "X-Credential-Identifier")]
        String,
        /// The `id` of the organization.
        #[oai(header = "X-Organization-ID")]
        String,
        /// The `slug` of the organization.
        #[oai(header = "X-Organization-Slug")]
        String,
    ),
}

#[OpenApi(prefix_path = FORWARD_AUTH, tag = "Tag::Verification")]
impl AuthResource {
    /// Authenticate a request
    ///
    /// For gateways (nginx `auth_request`, Caddy `forward_auth`, Envoy `ext_authz` and the like), which pass a request on
    /// only if the response to this one is 200, and then add its headers to it. Clients that want to know whom a key acts
    /// as get the current user instead.
    ///
    /// Every method but `TRACE` and `CONNECT`, which get 405, gets the same response, and so does every path below this one, which may be the path of the request
    /// in question; of the query there, only `project` is read. The body is never read. A preflight (`OPTIONS`)
    /// without a key gets 401: let the gateway answer preflights itself.
    #[oai(path = "/", method = "get", operation_id = "authenticateRequest")]
    async fn get(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        Using(projects): Using<&dyn ReachableProjects>,
        /// The `id` of a project that the user must be a member of; without it, any accepted key passes.
        project: QueryParameter<ProjectId>,
    ) -> Result<AuthenticatedRequest, Problem> {
        query.only(&[PROJECT])?;
        let caller = authenticated.0;
        if let Some(id) = project.0 {
            let found = projects
                .find(caller.consumer().id, id, caller.accepted_at())
                .await?;
            found.ok_or(Code::Forbidden)?;
        }
        Ok(AuthenticatedRequest::Accepted(
            header_text(caller.consumer().id)?,
            header_text(&caller.consumer().username)?,
            header_text(caller.api_key().id)?,
            header_text(caller.organization().id)?,
            header_text(&caller.organization().slug)?,
        ))
    }
}

/// A header's value. Nothing but visible ASCII characters means the same to every gateway and service, and poem-openapi
/// leaves a header out whose value cannot be one: an identity that cannot be told is refused instead.
fn header_text(value: impl fmt::Display) -> Result<String, Problem> {
    let text = value.to_string();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text)
    } else {
        Err(Problem::internal("a name has characters that no header can have"))
    }
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
    use super::header_text;

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
            assert!(header_text(text).is_err(), "{text:?}");
        }
        assert_eq!(header_text("ada.l-1_x").unwrap(), "ada.l-1_x");
    }
}
