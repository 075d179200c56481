//! `/api/v1/introspect`

use poem_openapi::{ApiResponse, OpenApi};
use tracing::{Span, field};

use super::introspection_representations::{Introspection, IntrospectionRequest};
use super::tag::Tag;
use crate::json::WrittenJson;
use crate::paths::INTROSPECTION;
use crate::problem::Problem;
use crate::request::{FormBody, NoQuery};
use crate::services::Services;
use crate::verifier_authentication::AuthenticatedVerifier;

pub(crate) struct IntrospectionResource;

#[derive(ApiResponse)]
pub(crate) enum Introspected {
    /// Whether the token is accepted now and, if so, which consumer it belongs to.
    #[oai(status = 200)]
    Answer(WrittenJson<Introspection>),
}

#[OpenApi(prefix_path = INTROSPECTION, tag = "Tag::Verification")]
impl IntrospectionResource {
    /// Introspect a token
    ///
    /// For services that get API keys from their clients (OAuth 2.0 Token Introspection, RFC 7662). A token
    /// that is malformed, unknown, revoked or expired, or whose user has left, is `{"active": false}`.
    /// Otherwise the response identifies the token's user and organization, and the request counts as a use of the key,
    /// without an address.
    ///
    /// The caller is a verifier, with HTTP Basic credentials from the operator of the installation; an API
    /// key is not accepted. Without any verifier, the response is 404. Do not keep the response: the key may
    /// be revoked in the next second.
    #[oai(path = "/", method = "post", operation_id = "introspectToken")]
    async fn post(
        &self,
        _verifier: AuthenticatedVerifier,
        _no_query: NoQuery,
        services: &Services,
        form: FormBody<IntrospectionRequest>,
    ) -> Result<Introspected, Problem> {
        let active = services.introspect.token(&form.0).await?;
        if let Some(token) = &active {
            Span::current().record("key_id", field::display(token.caller.api_key().id));
        }
        Ok(Introspected::Answer(WrittenJson(Introspection::of(
            active.as_ref(),
        ))))
    }
}
