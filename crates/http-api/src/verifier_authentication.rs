//! Authentication of verifiers: HTTP Basic (RFC 7617).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyward_domain::current::Current;
use keyward_domain::verifier::{VerifierName, Verifiers};
use poem::http::header;
use poem::{Request, RequestBody};
use poem_openapi::registry::Registry;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use tracing::{Span, field};
use zeroize::Zeroizing;

use crate::authentication::http_scheme;
use crate::problem::Problem;
use crate::rate_limits::{Attempt, count_verifier};
use crate::request::form_decoded;
use crate::services::Services;

/// The scheme's name in the OpenAPI document.
pub(crate) const SCHEME: &str = "verifier";

/// Extracts the verifier that sends a request. It is the first parameter of its operations, like
/// [`Authenticated`](crate::authentication::Authenticated) of others.
pub(crate) struct AuthenticatedVerifier;

impl<'a> ApiExtractor<'a> for AuthenticatedVerifier {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        let scheme = http_scheme(
            "basic",
            "The name and the secret of a verifier, as HTTP Basic credentials. The operator of the installation \
             gives them to services that check the API keys of their clients.",
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
        let verifiers = api.verifiers.as_ref().ok_or_else(Problem::no_verifiers)?;
        let limits = &api.rate_limits;
        let credentials = basic_credentials(request);
        match credentials
            .as_ref()
            .and_then(|credentials| credentials.find_in(verifiers))
        {
            Some(verifier) => {
                count_verifier(request, limits, &verifier)?;
                Span::current().record("verifier", field::display(verifier));
                Ok(Self)
            }
            None => {
                if request.headers().contains_key(header::AUTHORIZATION) {
                    Attempt::of(request, limits).failed().await?;
                }
                Err(Problem::invalid_client().into())
            }
        }
    }
}

/// `name:secret`, as sent.
struct BasicCredentials(Zeroizing<String>);

impl BasicCredentials {
    /// OAuth clients encode name and secret like a form (RFC 6749 §2.3.1), others do not: for generated
    /// secrets it is the same, others are tried in both ways.
    fn find_in(&self, verifiers: &Current<Verifiers>) -> Option<VerifierName> {
        let (name, secret) = self.0.split_once(':')?;
        let verifiers = verifiers.now();
        verifiers.find(name, secret.as_bytes()).or_else(|| {
            let (plain_name, plain_secret) = (form_decoded(name)?, form_decoded(secret)?);
            let is_other = plain_name != name || plain_secret != secret;
            let found = || verifiers.find(&plain_name, plain_secret.as_bytes());
            is_other.then(found).flatten()
        })
    }
}

/// The credentials in the only `Authorization` header, if it is well-formed.
fn basic_credentials(request: &Request) -> Option<BasicCredentials> {
    let mut headers = request.headers().get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (headers.next(), headers.next()) else {
        return None;
    };
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = Zeroizing::new(STANDARD.decode(rest.trim_matches(' ')).ok()?);
    let text = std::str::from_utf8(&decoded).ok()?.to_owned();
    Some(BasicCredentials(Zeroizing::new(text)))
}
