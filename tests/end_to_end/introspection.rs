//! Introspection by a service of its client's token.

use reqwest::{Method, RequestBuilder};

use keyward_tests::api::Api;
use keyward_tests::keyward::Keyward;
use keyward_tests::verifiers::Verifier;

/// The request of a verifier that introspects a token.
pub(crate) fn introspection(verifier: &Verifier, keyward: &Keyward, token: &str) -> RequestBuilder {
    Api::anonymous(keyward.base_url())
        .request(Method::POST, "/introspect")
        .basic_auth(verifier.name, Some(&verifier.secret))
        .form(&[("token", token)])
}
