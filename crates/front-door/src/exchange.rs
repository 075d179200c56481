//! One request and its answer.

use std::{
    io,
    net::SocketAddr,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use poem::{
    Addr, Endpoint, Request, Response,
    http::{self, HeaderValue, Method, StatusCode, Uri, header, uri::Scheme},
    web::{LocalAddr, RemoteAddr},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tracing::{Instrument, Span, error, info_span, warn};

use crate::{
    activity::Activity,
    admission::admit,
    config::FrontDoorConfig,
    refusal::{Refusal, Refused},
    request_body::{BodyProgress, RequestBody},
    request_id::{REQUEST_ID, RequestId},
    request_log::RequestLog,
    security_headers,
    serving_state::{self, ServingState},
};

/// What the application may be asked with (RFC 9110 §15.5.6 wants it said with every 405); not every resource supports
/// all of them.
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PATCH, DELETE");

/// Seconds after which a request that was too slow may be worth another try.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// What every exchange needs.
pub(crate) struct Exchanges<E> {
    pub(crate) app: E,
    pub(crate) config: FrontDoorConfig,
    pub(crate) serving: watch::Receiver<ServingState>,
}

/// The connection a request came by.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) activity: Arc<Activity>,
}

/// What is needed to refuse a request that the application already has.
struct Head {
    method: Method,
    uri: Uri,
    id: RequestId,
    started: Instant,
    /// When the body must be here at the latest; sooner while others wait.
    body_deadline: Instant,
}

impl<E: Endpoint> Exchanges<E> {
    /// Answers a request. Dropped when the client hangs up.
    pub(crate) async fn answer(
        &self,
        request: http::Request<Incoming>,
        origin: Origin,
    ) -> http::Response<AnswerBody> {
        origin.activity.request_read();
        let started = Instant::now();
        let head = Head {
            method: request.method().clone(),
            uri: request.uri().clone(),
            id: RequestId::new((self.config.request_ids)()),
            started,
            body_deadline: started + self.config.deadlines.body,
        };
        let client = self
            .config
            .trusted_proxies
            .client_address(origin.peer, request.headers());
        let span = info_span!("request", request_id = %head.id);
        async {
            let log = RequestLog::begin(&head.method, &head.uri, client, head.id.as_str(), head.started);
            let answered = match admit(&request, self.config.limits.body_bytes) {
                Ok(()) => self.hand_over(request, client, &origin, &head).await,
                Err(refusal) => {
                    if !request.body().is_end_stream() {
                        origin.activity.body_left_unread();
                    }
                    Err(refusal)
                }
            };
            let mut response = answered.unwrap_or_else(|refusal| self.refuse(refusal, &head));
            let headers = response.headers_mut();
            security_headers::set(headers, self.config.https);
            headers.insert(REQUEST_ID, head.id.header_value());
            if origin.activity.has_unread_body() || self.serving.borrow().crowded_since.is_some() {
                headers.insert(header::CONNECTION, CLOSE);
            }
            log.answered(response.status());
            http::Response::from(response).map(|body: BoxBody<Bytes, io::Error>| {
                origin
                    .activity
                    .answer_begun(head.id.clone(), body.size_hint().exact());
                AnswerBody {
                    body,
                    activity: origin.activity.clone(),
                    span: Span::current(),
                }
            })
        }
        .instrument(span)
        .await
    }

    /// Gives the request to the application.
    async fn hand_over(
        &self,
        mut request: http::Request<Incoming>,
        client: SocketAddr,
        origin: &Origin,
        head: &Head,
    ) -> Result<Response, Refusal> {
        request.headers_mut().insert(REQUEST_ID, head.id.header_value());
        let has_body = !request.body().is_end_stream();
        let scheme = if self.config.https {
            Scheme::HTTPS
        } else {
            Scheme::HTTP
        };
        let mut request = Request::from((
            request,
            LocalAddr(Addr::SocketAddr(origin.local)),
            RemoteAddr(Addr::SocketAddr(client)),
            scheme,
        ));
        let progress = Arc::new(BodyProgress::new());
        if has_body {
            let patience = origin.activity.patience(head.body_deadline);
            // Not while draining: a request whose headers are here is in flight, and finishes.
            let too_slow = serving_state::until(self.serving.clone(), move |serving| {
                patience.deadline(serving.crowded_since)
            });
            let body = RequestBody::new(
                request.take_body().into(),
                self.config.limits.body_bytes,
                Box::pin(too_slow),
                progress.clone(),
                origin.activity.clone(),
            );
            request.set_body(BoxBody::new(body));
        }
        let response = self.within_deadline(request, &progress, head).await?;
        // An application that maps the failure itself says 408 or 413 in its own words. One that answers any other
        // error would blame the client for a body that it never got.
        match progress.failure().map(Refusal::from) {
            Some(refusal) if is_error(response.status()) && response.status() != refusal.status() => {
                Err(refusal)
            }
            Some(_) | None => Ok(response),
        }
    }

    async fn within_deadline(
        &self,
        request: Request,
        progress: &BodyProgress,
        head: &Head,
    ) -> Result<Response, Refusal> {
        let mut handler = pin!(AssertUnwindSafe(self.app.get_response(request)).catch_unwind());
        let mut deadline = head.started + self.config.deadlines.handler;
        loop {
            tokio::select! {
                biased;
                outcome = &mut handler => return outcome.map_err(|_| {
                    error!("the application panicked");
                    Refusal::HandlerPanicked
                }),
                () = sleep_until(deadline) => {
                    // The time in which the client sent its body is not the handler's.
                    let waited_until = progress.handler_waited_until(head.body_deadline);
                    let extended = waited_until.unwrap_or(head.started) + self.config.deadlines.handler;
                    if extended <= deadline {
                        warn!("the application took too long");
                        return Err(Refusal::HandlerTooSlow);
                    }
                    deadline = extended;
                }
            }
        }
    }

    fn refuse(&self, refusal: Refusal, head: &Head) -> Response {
        let mut response = (self.config.error_pages)(&Refused {
            refusal,
            method: &head.method,
            uri: &head.uri,
            request_id: head.id.as_str(),
        });
        response.set_status(refusal.status());
        let headers = response.headers_mut();
        match refusal {
            Refusal::MethodNotAllowed => _ = headers.insert(header::ALLOW, ALLOWED_METHODS),
            Refusal::HandlerTooSlow => _ = headers.insert(header::RETRY_AFTER, RETRY_AFTER),
            // RFC 9110 §15.5.9 and §15.5.14: the rest of the body is not awaited.
            Refusal::BodyTooSlow | Refusal::BodyTooLarge => _ = headers.insert(header::CONNECTION, CLOSE),
            Refusal::InvalidHost | Refusal::HandlerPanicked => {}
        }
        response
    }
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// An answer's body, which tells when hyper has taken all of it.
pub(crate) struct AnswerBody {
    body: BoxBody<Bytes, io::Error>,
    activity: Arc<Activity>,
    /// What happens while the body is made belongs to the request.
    span: Span,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Self { body, span, .. } = &mut *self;
        let _entered = span.enter();
        Pin::new(body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.activity.answer_completed();
    }
}
