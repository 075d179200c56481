//! Bearer authentication (RFC 6750).

use keyward_domain::access::{Caller, Refused};
use poem::http::{Method, header};
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaSecurityScheme, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use tracing::{Span, field};

use crate::problem::{Code, Problem};
use crate::rate_limits::{Attempt, count_caller};
use crate::request_id::client_address;
use crate::services::{HttpApi, Services};

/// Extracts the caller. It is the first parameter of every operation, so that authentication precedes all
/// other parsing.
///
/// The token is read from the `Authorization` header only (RFC 6750 §2.1). A request with a scheme other than
/// `Bearer` has no credentials (§3.1: "attempted using an unsupported authentication method"); one with
/// several `Authorization` headers has malformed ones.
pub(crate) struct Authenticated(pub(crate) Caller);

/// The scheme's name in the OpenAPI document.
pub(crate) const SCHEME: &str = "bearer";

impl<'a> ApiExtractor<'a> for Authenticated {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        let scheme = http_scheme(
            "bearer",
            "An API key, in the header `Authorization: Bearer <API key>`. The first key is created in the \
             console, under Organization Settings, API Keys. A key works until it is revoked or expires, or \
             its user leaves the organization.",
        );
        registry.create_security_scheme(SCHEME, scheme);
    }

    fn security_schemes() -> Vec<&'static str> {
        vec![SCHEME]
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let api = &Services::of(request)?.api;
        let caller = caller(request, api).await?;
        count_caller(request, &api.rate_limits, &caller)?;
        Span::current().record("key_id", field::display(caller.api_key().id));
        Ok(Self(caller))
    }
}

/// A scheme of HTTP authentication, for the document.
pub(crate) const fn http_scheme(scheme: &'static str, description: &'static str) -> MetaSecurityScheme {
    MetaSecurityScheme {
        ty: "http",
        description: Some(description),
        name: None,
        key_in: None,
        scheme: Some(scheme),
        bearer_format: None,
        flows: None,
        openid_connect_url: None,
    }
}

async fn caller(request: &Request, api: &HttpApi) -> Result<Caller, Problem> {
    let authenticate = &api.authenticate;
    let attempt = Attempt::of(request, &api.rate_limits);
    let refused = match bearer_token(request) {
        Ok(token) => {
            let from = client_address(request);
            let caller = authenticate
                .caller_with_permit(token, from, attempt.lookup_permit())
                .await;
            attempt.ended();
            match caller {
                Ok(caller) => return Ok(caller),
                Err(Refused::Storage(error)) => return Err(error.into()),
                Err(refused) => refused,
            }
        }
        Err(NoToken::Missing) => return Err(Code::CredentialsMissing.into()),
        Err(NoToken::Malformed) => Refused::Unknown,
    };
    // Before the wait, so that a client that repeats a dead token does not keep the servers waiting for each
    // other.
    attempt.failed().await?;
    if *request.method() == Method::DELETE {
        authenticate.refused_everywhere(&refused).await;
    }
    Err(Code::InvalidToken.into())
}

/// A request has no token that could be authenticated.
#[derive(Debug, PartialEq, Eq)]
enum NoToken {
    /// It has no credentials, or none of a scheme that this API knows.
    Missing,
    /// Several headers, or one that is no text.
    Malformed,
}

/// The text in the token's position. It is passed to the domain only.
fn bearer_token(request: &Request) -> Result<&str, NoToken> {
    let mut headers = request.headers().get_all(header::AUTHORIZATION).iter();
    let value = headers.next().ok_or(NoToken::Missing)?.as_bytes();
    if headers.next().is_some() {
        return Err(NoToken::Malformed);
    }
    let is_white_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let (scheme, rest) = value.split_at(value.iter().position(is_white_space).unwrap_or(value.len()));
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Err(NoToken::Missing);
    }
    let token = std::str::from_utf8(rest).map_err(|_| NoToken::Malformed)?;
    Ok(token.trim_start_matches(' '))
}

#[cfg(test)]
mod tests {
    use poem::Request;
    use poem::http::HeaderValue;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    use super::{NoToken, bearer_token};

    fn token_of(headers: &[&[u8]]) -> Result<String, NoToken> {
        let mut request = Request::builder();
        for value in headers {
            request = request.header("authorization", HeaderValue::from_bytes(value).unwrap());
        }
        let request = request.finish();
        bearer_token(&request).map(str::to_owned)
    }

    #[test]
    fn authorization_scheme_is_case_insensitive() {
        for header in ["Bearer abc", "bearer abc", "BEARER   abc"] {
            assert_eq!(token_of(&[header.as_bytes()]), Ok("abc".to_owned()), "{header}");
        }
    }

    #[test]
    fn other_scheme_yields_no_credentials() {
        for header in ["", "Basic dXNlcjpwYXNz", "Bearerabc", "kwp_abc"] {
            assert_eq!(token_of(&[header.as_bytes()]), Err(NoToken::Missing), "{header}");
        }
        assert_eq!(token_of(&[]), Err(NoToken::Missing));
    }

    #[test]
    fn repeated_or_non_text_authorization_header_is_malformed() {
        let malformed = Err(NoToken::Malformed);
        assert_eq!(token_of(&[b"Bearer abc", b"Bearer abc"]), malformed);
        assert_eq!(token_of(&[b"Basic abc", b"Bearer abc"]), malformed);
        assert_eq!(token_of(&[b"Bearer \xff"]), malformed);
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(6750), failure_persistence: None, ..Config::default() })]

        #[test]
        fn any_spelling_of_the_scheme_yields_the_token(
            scheme in "[bB][eE][aA][rR][eE][rR]",
            spaces in " {1,4}",
            token in "[!-~][ -~]{0,60}",
        ) {
            let sent = format!("{scheme}{spaces}{token}");
            prop_assert_eq!(token_of(&[sent.as_bytes()]), Ok(token));
        }

        #[test]
        fn token_is_the_end_of_the_only_header(sent in vec(r"(bearer|BEARER|basic|[ \t]|[!-~]|é|\u{80}){0,6}", 0..3)) {
            let sent: Vec<&[u8]> = sent.iter().map(String::as_bytes).collect();
            if let Ok(token) = token_of(&sent) {
                let [only] = sent[..] else { panic!("{sent:?} are several") };
                prop_assert!(only[..6].eq_ignore_ascii_case(b"bearer") && only.ends_with(token.as_bytes()));
            }
        }
    }
}
