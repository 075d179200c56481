//! Bearer authentication (RFC 6750).

use keyward_domain::access::{Authenticate, AuthenticateError, Caller};
use poem::http::{Method, header};
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaSecurityScheme, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use tracing::{Span, field};

use crate::problem::{Code, Problem};
use crate::request_id::client_address;

/// Extracts the caller. It is the first parameter of every operation, so that authentication precedes all other
/// parsing.
///
/// The token is read from the `Authorization` header only (RFC 6750 §2.1). A request with a scheme other than `Bearer`
/// has no credentials (§3.1: "attempted using an unsupported authentication method"); one with several `Authorization`
/// headers has malformed ones.
pub(crate) struct Authenticated(pub(crate) Caller);

/// The scheme's name in the OpenAPI document.
pub(crate) const SCHEME: &str = "bearer";

impl<'a> ApiExtractor<'a> for Authenticated {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        registry.create_security_scheme(
            SCHEME,
            MetaSecurityScheme {
                ty: "http",
                description: Some(
                    "An API key, in the header `Authorization: Bearer <API key>`. The first key is created in the \
                     console, under Organization Settings, API Keys. A key works until it is revoked or expires, or \
                     its user leaves the organization.",
                ),
                name: None,
                key_in: None,
                scheme: Some("bearer"),
                bearer_format: None,
                flows: None,
                openid_connect_url: None,
            },
        );
    }

    fn security_schemes() -> Vec<&'static str> {
        vec![SCHEME]
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let token = bearer_token(request)?;
        let authenticate = request
            .data::<Authenticate>()
            .ok_or_else(|| Problem::internal("the endpoint was built without Authenticate"))?;
        let from = client_address(request);
        let accepted = match *request.method() {
            Method::DELETE => authenticate.revoker(token, from).await,
            _ => authenticate.caller(token, from).await,
        };
        match accepted {
            Ok(caller) => {
                Span::current().record("key_id", field::display(caller.api_key().id));
                Ok(Self(caller))
            }
            Err(AuthenticateError::InvalidToken) => Err(Problem::from(Code::InvalidToken).into()),
            Err(AuthenticateError::Storage(error)) => Err(Problem::from(error).into()),
        }
    }
}

/// The text in the token's position. It is passed to the domain only.
fn bearer_token(request: &Request) -> Result<&str, Problem> {
    let mut headers = request.headers().get_all(header::AUTHORIZATION).iter();
    let value = headers.next().ok_or(Code::CredentialsMissing)?.as_bytes();
    if headers.next().is_some() {
        return Err(Code::InvalidToken.into());
    }
    let is_white_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let (scheme, rest) = value.split_at(value.iter().position(is_white_space).unwrap_or(value.len()));
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Err(Code::CredentialsMissing.into());
    }
    let token = std::str::from_utf8(rest).map_err(|_| Code::InvalidToken)?;
    Ok(token.trim_start_matches(' '))
}

#[cfg(test)]
mod tests {
    use poem::Request;
    use poem::http::HeaderValue;
    use serde_json::Value;

    use super::bearer_token;
    use crate::base_url::BaseUrl;
    use crate::problem::Code;

    fn token_of(headers: &[&[u8]]) -> Result<String, Value> {
        let mut request = Request::builder();
        for value in headers {
            request = request.header("authorization", HeaderValue::from_bytes(value).unwrap());
        }
        let request = request.finish();
        bearer_token(&request)
            .map(str::to_owned)
            .map_err(|problem| problem.to_json("", &BaseUrl::default())["code"].clone())
    }

    fn code(code: Code) -> Value {
        code.definition().word.into()
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
            assert_eq!(
                token_of(&[header.as_bytes()]),
                Err(code(Code::CredentialsMissing)),
                "{header}"
            );
        }
        assert_eq!(token_of(&[]), Err(code(Code::CredentialsMissing)));
    }

    #[test]
    fn repeated_or_non_text_authorization_header_is_malformed() {
        let malformed = Err(code(Code::InvalidToken));
        assert_eq!(token_of(&[b"Bearer abc", b"Bearer abc"]), malformed);
        assert_eq!(token_of(&[b"Basic abc", b"Bearer abc"]), malformed);
        assert_eq!(token_of(&[b"Bearer \xff"]), malformed);
    }
}
