//! Routing of paths to interfaces.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use keyward_console::error_page;
use keyward_domain::ports::StorageError;
use keyward_front_door::{REQUEST_ID, RefusalReason, Refused};
use keyward_http_api::{BaseUrl, paths, problem_response, unavailable_response};
use keyward_persistence::on_behalf_of;
use poem::endpoint::{BoxEndpoint, DynEndpoint};
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::{Endpoint, EndpointExt, Request, Response};

use crate::form_tasks::FormTasks;
use crate::health::{Health, live_response, not_ready_response, ready_response};
use crate::outage::Outages;
use crate::wanted_format::wants_json;

/// The paths of health checks.
pub(crate) const HEALTH_PATHS: &[&str] = &[LIVE, READY];

const LIVE: &str = "/healthz";
const READY: &str = "/readyz";

/// Everything that is served: health, the HTTP API, and the console on all other paths.
pub(crate) struct Routes {
    health: Health,
    outages: Outages,
    base_url: BaseUrl,
    http_api: BoxEndpoint<'static, Response>,
    console: Arc<BoxEndpoint<'static, Response>>,
    forms: FormTasks,
}

impl Routes {
    pub(crate) fn new(
        health: Health,
        outages: Outages,
        base_url: BaseUrl,
        http_api: impl Endpoint<Output = Response> + 'static,
        console: impl Endpoint + 'static,
    ) -> Self {
        let console = Arc::new(console.map_to_response().boxed());
        Self {
            health,
            outages,
            base_url,
            http_api: http_api.boxed(),
            forms: FormTasks::new(Arc::clone(&console)),
            console,
        }
    }
}

impl Routes {
    /// The forms that are being handled, to wait for at the end.
    pub(crate) fn forms(&self) -> FormTasks {
        self.forms.clone()
    }
}

impl Endpoint for Routes {
    type Output = Response;

    /// Not an `async fn`: its future, which is copied with that of each request, would hold the request, too.
    fn call(&self, request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        let client = client_of(&request);
        let answer = self.answer(request);
        on_behalf_of(client, async move {
            match answer {
                Answer::Now(response) => Ok(response),
                Answer::Later(answering) => self.noting_outage(answering.await),
            }
        })
    }
}

/// An answer, or the future of one.
enum Answer<'a> {
    Now(Response),
    Later(Pin<Box<dyn Future<Output = poem::Result<Response>> + Send + 'a>>),
}

impl Routes {
    fn answer(&self, request: Request) -> Answer<'_> {
        match Interface::of(request.uri().path()) {
            Interface::Health(probe) if is_read(request.method()) => match probe {
                Probe::Live => Answer::Now(live_response()),
                Probe::Ready => Answer::Later(Box::pin(self.readiness(request))),
            },
            Interface::Health(_) => Answer::Now(method_not_allowed(request_id(&request), &self.base_url)),
            Interface::HttpApi => Answer::Later(DynEndpoint::call(&*self.http_api, with_peer(request))),
            Interface::Documentation => Answer::Later(Box::pin(self.documentation(request))),
            // A program with a wrong path gets a problem in JSON instead of the sign-in page.
            Interface::Console if wants_json(request.headers()) => Answer::Now(problem_response(
                StatusCode::NOT_FOUND,
                request_id(&request),
                &self.base_url,
            )),
            Interface::Console if is_read(request.method()) => {
                Answer::Later(DynEndpoint::call(&**self.console, request))
            }
            Interface::Console => {
                let client = client_of(&request);
                Answer::Later(Box::pin(self.forms.answer(request, client)))
            }
        }
    }

    async fn readiness(&self, request: Request) -> poem::Result<Response> {
        Ok(match self.health.readiness().await {
            Ok(()) => ready_response(),
            Err(obstacle) => not_ready_response(obstacle, request_id(&request), &self.base_url),
        })
    }

    /// A path that does not exist gets a page for browsers and a problem in JSON for programs.
    async fn documentation(&self, request: Request) -> poem::Result<Response> {
        let (wants_json, request_id) = (wants_json(request.headers()), request_id(&request).to_owned());
        let response = DynEndpoint::call(&*self.http_api, request).await?;
        let status = response.status();
        if status != StatusCode::NOT_FOUND {
            return Ok(response);
        }
        let content_type = response.content_type().unwrap_or_default();
        Ok(match (wants_json, content_type.starts_with("text/html")) {
            (true, true) => problem_response(status, &request_id, &self.base_url),
            (false, false) => error_page(status, &request_id),
            (true, false) | (false, true) => response,
        })
    }

    /// An adapter leaves with its answer that the storage was unavailable.
    fn noting_outage(&self, mut answered: poem::Result<Response>) -> poem::Result<Response> {
        if let Ok(response) = &mut answered
            && let Some(cause) = response.extensions_mut().remove::<Arc<StorageError>>()
        {
            self.outages.request_failed(&cause);
        }
        answered
    }
}

fn client_of(request: &Request) -> Option<IpAddr> {
    request.remote_addr().as_socket_addr().map(SocketAddr::ip)
}

/// Passes the address of the peer to the API.
fn with_peer(mut request: Request) -> Request {
    if let Some(&keyward_front_door::PeerAddress(peer)) = request.data() {
        request.set_data(keyward_http_api::PeerAddress(peer));
    }
    request
}

/// Answers a refusal of the front door in the form of the interface that was called, or that fits the client.
pub(crate) fn refusal_response(refused: &Refused<'_>, base_url: &BaseUrl) -> Response {
    let status = refused.reason.status();
    match Interface::of(refused.uri.path()) {
        Interface::Console | Interface::Documentation if !wants_json(refused.headers) => {
            error_page(status, refused.request_id)
        }
        _ if refused.reason == RefusalReason::ShuttingDown => {
            unavailable_response("The server is about to end.", refused.request_id, base_url)
        }
        Interface::HttpApi | Interface::Documentation | Interface::Health(_) | Interface::Console => {
            problem_response(status, refused.request_id, base_url)
        }
    }
}

/// The part of the server that answers a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    Health(Probe),
    HttpApi,
    /// The pages of the HTTP API, and its document.
    Documentation,
    Console,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    Live,
    Ready,
}

impl Interface {
    fn of(path: &str) -> Self {
        match path {
            LIVE => Self::Health(Probe::Live),
            READY => Self::Health(Probe::Ready),
            _ if paths::is_api(path) => Self::HttpApi,
            _ if paths::is_served(path) => Self::Documentation,
            _ => Self::Console,
        }
    }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn request_id(request: &Request) -> &str {
    request.header(REQUEST_ID).unwrap_or_default()
}

fn method_not_allowed(request_id: &str, base_url: &BaseUrl) -> Response {
    let mut response = problem_response(StatusCode::METHOD_NOT_ALLOWED, request_id, base_url);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn console_pages_name_existing_api_paths() {
        use keyward_console::api_paths;
        assert_eq!(api_paths::USER, paths::USER);
        assert_eq!(api_paths::PROJECTS, paths::PROJECTS);
        assert_eq!(api_paths::REFERENCE, paths::REFERENCE);
    }

    #[test]
    fn api_paths_are_served_by_http_api_others_by_console() {
        for path in [paths::API_KEYS, "/api", "/api/x"] {
            assert_eq!(Interface::of(path), Interface::HttpApi, "{path}");
        }
        for path in [paths::REFERENCE, "/problems/not_found", "/openapi.json"] {
            assert_eq!(Interface::of(path), Interface::Documentation, "{path}");
        }
        for path in ["/", "/setup", "/healthz/", ""] {
            assert_eq!(Interface::of(path), Interface::Console, "{path}");
        }
    }
}
