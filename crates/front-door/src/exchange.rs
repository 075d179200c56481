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
use futures_util::{
    FutureExt, TryFutureExt,
    future::{lazy, poll_immediate},
};
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use poem::{
    Addr, Endpoint, IntoResponse, Request, Response,
    http::{self, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header, uri::Scheme},
    web::{LocalAddr, RemoteAddr},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tracing::{Instrument, Span, error, error_span, field::Empty, warn};

use crate::{
    activity::Activity,
    admission::admit,
    client_address::PeerAddress,
    config::FrontDoorConfig,
    forwarded::canonical,
    proxy_warnings::ProxyWarnings,
    refusal::{RefusalReason, Refused},
    request_body::{BodyProgress, RequestBody},
    request_id::{REQUEST_ID, RequestId},
    request_log::RequestLog,
    request_path,
    security_headers::SecurityHeaders,
    serving_state::{self, ServingState},
    trace_context::TraceParent,
    tracer::{Received, TRACED},
    unsent::UnsentAnswers,
};

/// Seconds after which a request may be worth another try: a storage that failed over is back by then. Every
/// 503 says it, unless the application knows better.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// The shared parts of all exchanges.
pub(crate) struct Exchanges<E> {
    pub(crate) app: E,
    pub(crate) config: FrontDoorConfig,
    pub(crate) serving: watch::Receiver<ServingState>,
    pub(crate) unsent: Arc<UnsentAnswers>,
    pub(crate) proxy_warnings: ProxyWarnings,
    pub(crate) security_headers: SecurityHeaders,
}

/// The connection a request came by.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) activity: Arc<Activity>,
    /// It came to a server that shuts down, and found no place.
    pub(crate) is_too_late: bool,
}

/// The parts of a request that are needed to refuse it while the application has it.
struct Head {
    method: Method,
    uri: Uri,
    negotiation: NegotiationHeaders,
    id: RequestId,
    started: Instant,
    /// When the body must be here at the latest; sooner while others wait.
    body_deadline: Instant,
}

impl<E: Endpoint> Exchanges<E> {
    /// Answers a request. Dropped when the client hangs up.
    ///
    /// Not an `async fn`: its future, which is copied with each request, would hold the request several
    /// times.
    pub(crate) fn answer(
        self: Arc<Self>,
        mut request: http::Request<Incoming>,
        origin: Origin,
    ) -> impl Future<Output = http::Response<AnswerBody>> {
        let started = origin.activity.request_read();
        request_path::normalize(request.uri_mut());
        let is_from_proxy = self.config.trusted_proxies.trusts_peer(origin.peer);
        let given_id = is_from_proxy
            .then(|| RequestId::given_in(request.headers()))
            .flatten();
        let head = Head {
            method: request.method().clone(),
            uri: request.uri().clone(),
            negotiation: NegotiationHeaders::of(request.headers()),
            id: given_id.unwrap_or_else(|| RequestId::new((self.config.request_ids)())),
            started,
            body_deadline: started + self.config.deadlines.body,
        };
        let client = self
            .config
            .trusted_proxies
            .client_address(origin.peer, request.headers());
        let trace = self.trace(&request, &head, client, is_from_proxy);
        let span = match &trace {
            Some(span) => span.clone(),
            None => request_span(&head.id),
        };
        if trace.is_none()
            && let Some(parent) = is_from_proxy
                .then(|| TraceParent::given_in(request.headers()))
                .flatten()
        {
            span.record("trace_id", parent.trace_id);
        }
        async move {
            self.proxy_warnings
                .look_at(&self.config.trusted_proxies, origin.peer, request.headers());
            let log = RequestLog::begin(
                &head.method,
                &head.uri,
                client,
                head.started,
                trace.as_ref(),
                &self.config,
            );
            let admitted = if origin.is_too_late {
                Err(RefusalReason::ShuttingDown)
            } else {
                admit(&request, &self.config)
            };
            let answered = match admitted {
                Ok(()) => self.hand_over(request, client, &origin, &head).await,
                Err(refusal) => {
                    // Bytes after the head of CONNECT are neither its body nor a request (RFC 9110 §9.3.6): a
                    // proxy may have passed on its client's bytes, and use the connection for others.
                    if !request.body().is_end_stream() || *request.method() == Method::CONNECT {
                        origin.activity.body_left_unread();
                    }
                    Err(refusal)
                }
            };
            let mut response = match answered {
                Ok(response) => response,
                Err(refusal) => self.refuse(refusal, &head).await,
            };
            if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                response
                    .headers_mut()
                    .entry(header::RETRY_AFTER)
                    .or_insert(RETRY_AFTER);
            }
            let headers = response.headers_mut();
            self.security_headers.set(headers);
            headers.insert(REQUEST_ID, head.id.header_value());
            if origin.activity.has_unread_body() || self.serving.borrow().wants_fewer_connections() {
                headers.insert(header::CONNECTION, CLOSE);
            }
            log.answered(&response);
            http::Response::from(response).map(|body: BoxBody<Bytes, io::Error>| {
                let length = body.size_hint().exact();
                origin.activity.answer_begun(head.id.clone(), length);
                AnswerBody {
                    body,
                    activity: origin.activity.clone(),
                    // A body of known length is complete: polling it logs nothing.
                    span: length.is_none().then(Span::current),
                }
            })
        }
        .instrument(span)
    }

    /// The span of a request that is traced, which its trace begins with. Health checks are not, because
    /// their traces are of no use.
    fn trace(
        &self,
        request: &http::Request<Incoming>,
        head: &Head,
        client: SocketAddr,
        is_from_proxy: bool,
    ) -> Option<Span> {
        let tracer = self.config.tracer.as_ref()?;
        if self.config.health_paths.contains(&head.uri.path()) {
            return None;
        }
        let span = traced_request_span(&head.id);
        let received = Received {
            method: &head.method,
            uri: &head.uri,
            client: client.ip(),
            parent: TraceParent::given_in(request.headers()),
            is_from_proxy,
        };
        span.record("trace_id", &*tracer(&received, &span));
        Some(span)
    }

    /// Gives the request to the application.
    async fn hand_over(
        &self,
        mut request: http::Request<Incoming>,
        client: SocketAddr,
        origin: &Origin,
        head: &Head,
    ) -> Result<Response, RefusalReason> {
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
        let progress = has_body.then(|| Arc::new(BodyProgress::new()));
        // With its port: a client on the proxy's machine has the proxy's address.
        let peer = canonical(origin.peer.ip(), origin.peer.port());
        if client != peer {
            request.set_data(PeerAddress(peer.ip()));
        }
        if let Some(progress) = &progress {
            let read_deadline = origin.activity.read_deadline(head.body_deadline);
            // Not while draining: a request whose headers are here is in flight, and finishes.
            let too_slow = serving_state::until(self.serving.clone(), move |serving| {
                read_deadline.at(serving.saturation.short_timeout())
            });
            let body = RequestBody::new(
                request.take_body().into(),
                self.config.most_body_bytes(head.uri.path()),
                Box::pin(too_slow),
                progress.clone(),
                origin.activity.clone(),
            );
            request.set_body(BoxBody::new(body));
        }
        let handler = pin!(self.handle(request));
        let response = self.within_deadline(handler, progress.as_deref(), head).await?;
        // An application that maps the failure itself says 408 or 413 in its own words. One that answers any
        // other error would blame the client for a body that it never got.
        let failure = progress.and_then(|progress| progress.failure());
        match failure.map(RefusalReason::from) {
            Some(refusal) if is_error(response.status()) && response.status() != refusal.status() => {
                Err(refusal)
            }
            Some(_) | None => Ok(response),
        }
    }

    /// Lets the application answer. The future holds either the request or the application's future, never
    /// both.
    fn handle(&self, request: Request) -> impl Future<Output = Result<Response, RefusalReason>> {
        let answering = lazy(|_| self.app.call(request))
            .flatten()
            .map(|outcome| outcome.map_or_else(|error| error.into_response(), IntoResponse::into_response));
        AssertUnwindSafe(answering).catch_unwind().map_err(|_| {
            error!("application panicked");
            RefusalReason::HandlerPanicked
        })
    }

    async fn within_deadline(
        &self,
        mut handler: Pin<&mut impl Future<Output = Result<Response, RefusalReason>>>,
        progress: Option<&BodyProgress>,
        head: &Head,
    ) -> Result<Response, RefusalReason> {
        // Most answers are ready at once, and need no timer.
        if let Some(outcome) = poll_immediate(handler.as_mut()).await {
            return outcome;
        }
        let mut deadline = head.started + self.config.deadlines.handler;
        loop {
            tokio::select! {
                biased;
                outcome = &mut handler => return outcome,
                () = sleep_until(deadline) => {
                    // The time in which the client sent its body is not the handler's.
                    let waited_until = progress.and_then(|progress| progress.handler_waited_until(head.body_deadline));
                    let extended = waited_until.unwrap_or(head.started) + self.config.deadlines.handler;
                    if extended <= deadline {
                        warn!("application timed out");
                        return Err(RefusalReason::HandlerTooSlow);
                    }
                    deadline = extended;
                }
            }
        }
    }

    async fn refuse(&self, reason: RefusalReason, head: &Head) -> Response {
        let mut response = match reason {
            // hyper answers too large headers without a body, too.
            RefusalReason::TooManyHeaders => Response::default(),
            _ => (self.config.error_pages)(&Refused {
                reason,
                method: &head.method,
                uri: &head.uri,
                headers: &head.negotiation.to_map(),
                request_id: head.id.as_str(),
            }),
        };
        response.set_status(reason.status());
        let headers = response.headers_mut();
        match reason {
            // RFC 9110 §15.5.6 wants it said with every 405, and it may be empty.
            RefusalReason::MethodNotAllowed => {
                _ = headers.insert(header::ALLOW, self.allowed_methods(head).await);
            }
            // RFC 9110 §15.5.9 and §15.5.14: the rest of the body is not awaited. hyper also closes the
            // connection after too large headers. A handler that is too slow may still hold the body. Where a
            // body of an unknown coding ends is uncertain.
            RefusalReason::HandlerTooSlow
            | RefusalReason::BodyTooSlow
            | RefusalReason::BodyTooLarge
            | RefusalReason::TooManyHeaders
            | RefusalReason::UnknownTransferCoding => {
                _ = headers.insert(header::CONNECTION, CLOSE);
            }
            RefusalReason::InvalidHost | RefusalReason::HandlerPanicked | RefusalReason::ShuttingDown => {}
        }
        response
    }

    /// The methods that the resource at this path allows. The application gets an OPTIONS request without the
    /// original headers and body; it answers it or refuses it, with `Allow` in either case.
    async fn allowed_methods(&self, head: &Head) -> HeaderValue {
        let none = HeaderValue::from_static("");
        // The target of CONNECT is no resource.
        if head.uri.path().is_empty() {
            return none;
        }
        let question = Request::builder()
            .method(Method::OPTIONS)
            .uri(head.uri.clone())
            .header(REQUEST_ID, head.id.header_value())
            .finish();
        let handler = pin!(self.handle(question));
        let answer = self.within_deadline(handler, None, head).await;
        let allow = answer
            .ok()
            .and_then(|answer| answer.headers().get(header::ALLOW).cloned());
        allow.unwrap_or(none)
    }
}

/// The span of a request, which gives every log line within it the request's id; `key_id` is set by the code
/// that finds out by which key the request is authenticated, and `verifier` by which verifier. It is there at
/// every level of the log.
pub(crate) fn request_span(id: &RequestId) -> Span {
    error_span!("request", request_id = %id, key_id = Empty, verifier = Empty, trace_id = Empty)
}

/// The same for a request that is traced.
fn traced_request_span(id: &RequestId) -> Span {
    error_span!(target: TRACED, "request", request_id = %id, key_id = Empty, verifier = Empty, trace_id = Empty)
}

/// The headers by which [`ErrorPages`](crate::ErrorPages) choose a format, if the request has them. Few
/// requests are refused, so a copy of all headers, or a map of these, would cost every request too much.
struct NegotiationHeaders(Vec<(HeaderName, HeaderValue)>);

impl NegotiationHeaders {
    fn of(all: &HeaderMap) -> Self {
        let mut kept = Vec::new();
        for name in [header::ACCEPT, header::AUTHORIZATION] {
            for value in all.get_all(&name) {
                kept.push((name.clone(), value.clone()));
            }
        }
        Self(kept)
    }

    fn to_map(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in &self.0 {
            map.append(name.clone(), value.clone());
        }
        map
    }
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// An answer's body, which reports when hyper has taken all of it.
pub(crate) struct AnswerBody {
    body: BoxBody<Bytes, io::Error>,
    activity: Arc<Activity>,
    /// The span of the request, in which the body is made.
    span: Option<Span>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Self { body, span, .. } = &mut *self;
        let _entered = span.as_ref().map(Span::enter);
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
