//! The API as one endpoint.

use std::sync::Arc;

use poem::endpoint::{BoxEndpoint, DynEndpoint};
use poem::http::{HeaderValue, header};
use poem::{Endpoint, EndpointExt, Request, Response, Route};

use crate::assets;
use crate::forward_auth;
use crate::operations::{Methods, Operations};
use crate::paths;
use crate::problem::{ProblemAnswers, problem_page};
use crate::rate_limit_fields::RateLimitFields;
use crate::reference::ReferencePage;
use crate::resources::API;
use crate::served_document::ServedDocument;
use crate::services::{HttpApi, Services};

impl HttpApi {
    /// The endpoint that serves `/api/v1/…`, `/openapi.json`, `/docs` and `/problems/{code}`.
    ///
    /// It responds to every request, with a problem (RFC 9457) on error.
    pub fn endpoint(self) -> impl Endpoint<Output = Response> + 'static {
        let are_configured = self.rate_limits.requests.is_some();
        let base_url = self.base_url.clone();
        let reference_page = ReferencePage::new();
        let pages = Route::new()
            .at(paths::DOCUMENT, Methods::page(ServedDocument::new(&base_url)))
            .at(paths::REFERENCE, Methods::page(reference_page.clone()))
            .at(format!("{}/", paths::REFERENCE), Methods::page(reference_page))
            .at(paths::asset(":asset"), Methods::page(assets::serve_asset))
            .at(paths::problem(":code"), Methods::page(problem_page));
        let answers = ProblemAnswers::new(
            OperationsAndPages {
                operations: Operations::of(API),
                services: Arc::new(Services::new(self)),
                pages: pages.boxed(),
            },
            base_url,
        );
        RateLimitFields {
            inner: answers,
            are_configured,
        }
    }
}

/// poem's own nesting would reject a path that is not UTF-8 before authentication.
///
/// This replaces poem's middlewares for operations: each of them makes the future of every request larger by
/// another copy of the request.
struct OperationsAndPages {
    operations: Operations,
    services: Arc<Services>,
    pages: BoxEndpoint<'static>,
}

impl Endpoint for OperationsAndPages {
    type Output = Response;

    fn call(&self, mut request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        forward_auth::reduce_to_operation(&mut request);
        let is_for_operation = request.uri().path().starts_with(paths::PREFIX);
        let answering = if is_for_operation {
            request.set_data(Arc::clone(&self.services));
            self.operations.call(request)
        } else {
            DynEndpoint::call(&*self.pages, request)
        };
        async move {
            let mut answer = answering.await?;
            if is_for_operation {
                // Access changes with every revocation, and some responses contain a token.
                let headers = answer.headers_mut();
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            }
            Ok(answer)
        }
    }
}
