//! The API as one endpoint.

use std::sync::Arc;

use keyward_domain::access::Authenticate;
use keyward_domain::introspection::Introspect;
use keyward_domain::keys::PersonalKeys;
use keyward_domain::leaked_keys::ReportedLeaks;
use keyward_domain::ports::ReachableProjects;
use keyward_domain::verifier::CurrentVerifiers;
use poem::http::{HeaderValue, header};
use poem::{Endpoint, EndpointExt, Request, Response, Route, get};

use crate::assets;
use crate::base_url::BaseUrl;
use crate::document;
use crate::forward_auth;
use crate::gate::Gate;
use crate::paths;
use crate::problem::{ProblemAnswers, problem_page};
use crate::rate_limit_fields::RateLimitFields;
use crate::rate_limits::RateLimits;
use crate::reference::ReferencePage;
use crate::resources::API;
use crate::routes::Routes;
use crate::served_document::ServedDocument;
use crate::verifier_authentication::ConfiguredVerifiers;

/// The API over its use cases.
#[derive(Clone)]
pub struct HttpApi {
    /// Authenticates the token of each request.
    pub authenticate: Authenticate,
    /// Use cases of the caller's own keys.
    pub keys: PersonalKeys,
    /// The projects that callers reach.
    pub projects: Arc<dyn ReachableProjects>,
    /// Who may introspect tokens; nobody without it.
    pub verifiers: Option<Arc<CurrentVerifiers>>,
    /// Takes reports of leaked keys.
    pub leaks: Arc<ReportedLeaks>,
    /// The public URL, if configured.
    pub base_url: BaseUrl,
    /// The limits of requests.
    pub rate_limits: RateLimits,
}

impl HttpApi {
    /// The endpoint that serves `/api/v1/…`, `/openapi.json`, `/docs` and `/problems/{code}`.
    ///
    /// It responds to every request, with a problem (RFC 9457) on error.
    pub fn endpoint(self) -> impl Endpoint<Output = Response> + 'static {
        let verifiers: ConfiguredVerifiers = self.verifiers;
        let are_configured = self.rate_limits.requests.is_some();
        let operations = document::service()
            .data(Introspect::new(
                self.authenticate.clone(),
                Arc::clone(&self.projects),
            ))
            .data(verifiers)
            .data(self.leaks)
            .data(Arc::new(Gate {
                authenticate: self.authenticate,
                rate_limits: self.rate_limits,
            }))
            .data(self.keys)
            .data(self.projects)
            .data(self.base_url.clone())
            .map_to_response()
            .after(|answer| async { answer.map(never_cached) });
        let reference_page = ReferencePage::new();
        let pages = Route::new()
            .at(paths::DOCUMENT, get(ServedDocument::new(&self.base_url)))
            .at(paths::REFERENCE, get(reference_page.clone()))
            .at(format!("{}/", paths::REFERENCE), get(reference_page))
            .at(paths::asset(":asset"), get(assets::serve_asset))
            .at(paths::problem(":code"), get(problem_page));
        let others = [
            paths::DOCUMENT.to_owned(),
            paths::REFERENCE.to_owned(),
            paths::asset("{asset}"),
            paths::problem("{code}"),
        ];
        let answers = ProblemAnswers::new(
            OperationsAndPages { operations, pages },
            Routes::of(&API, others),
            self.base_url,
        );
        RateLimitFields {
            inner: answers,
            are_configured,
        }
    }
}

/// poem's own nesting would reject a path that is not UTF-8 before authentication.
struct OperationsAndPages<O, P> {
    operations: O,
    pages: P,
}

impl<O, P> Endpoint for OperationsAndPages<O, P>
where
    O: Endpoint<Output = Response>,
    P: Endpoint<Output = Response>,
{
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        forward_auth::reduce_to_operation(&mut request);
        if request.uri().path().starts_with(paths::PREFIX) {
            self.operations.call(request).await
        } else {
            self.pages.call(request).await
        }
    }
}

/// Forbids caching: access changes with every revocation, and some responses contain a token.
fn never_cached(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
