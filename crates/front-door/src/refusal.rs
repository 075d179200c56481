//! The front door's own answers, and their pages.

use std::sync::Arc;

use poem::{
    Response,
    http::{HeaderMap, Method, StatusCode, Uri},
};

/// Why the front door answered in the application's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// There is no `Host` header (which HTTP/1.0 may lack), more than one, or one that names no host (RFC
    /// 9112 §3.2).
    InvalidHost,
    /// The body has another transfer coding than `chunked`, or more than one (RFC 9112 §6.1).
    UnknownTransferCoding,
    /// There are more headers than [`Limits::headers`](crate::Limits::headers). The answer has no body, and
    /// no [`ErrorPages`] are asked for it.
    TooManyHeaders,
    /// TRACE would echo credentials, CONNECT would make this a proxy. `Allow` has the methods of the target's
    /// resource.
    MethodNotAllowed,
    /// The body did not arrive within [`Deadlines::body`](crate::Deadlines::body).
    BodyTooSlow,
    /// The body is longer than [`Limits::body_bytes`](crate::Limits::body_bytes).
    BodyTooLarge,
    /// The application took longer than [`Deadlines::handler`](crate::Deadlines::handler). The outcome is
    /// unknown.
    HandlerTooSlow,
    /// The client waited for a place when the shutdown began. Nothing has happened.
    ShuttingDown,
    /// The application panicked. The outcome is unknown.
    HandlerPanicked,
}

impl RefusalReason {
    /// The status of the answer.
    pub fn status(self) -> StatusCode {
        match self {
            // For an unknown coding, RFC 9112 §6.1 suggests 501; hyper, too, answers 400 where `chunked` is not
            // the last one.
            Self::InvalidHost | Self::UnknownTransferCoding => StatusCode::BAD_REQUEST,
            Self::TooManyHeaders => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::HandlerTooSlow | Self::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Self::HandlerPanicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A request that the front door refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// The reason, which also decides the status.
    pub reason: RefusalReason,
    /// The method of the request.
    pub method: &'a Method,
    /// The target; its path distinguishes a program's request from a person's.
    pub uri: &'a Uri,
    /// The request's `Accept` and `Authorization`, which may distinguish them, too.
    pub headers: &'a HeaderMap,
    /// The value of [`REQUEST_ID`](crate::REQUEST_ID), which the response carries, too.
    pub request_id: &'a str,
}

/// Makes the response to a refusal in the form of the interface: a problem for programs, a page for people.
///
/// It gives the body and its `Content-Type`. The front door sets the status, `Retry-After` and the headers of
/// every answer itself.
pub type ErrorPages = Arc<dyn Fn(&Refused<'_>) -> Response + Send + Sync>;

/// The reason phrase of the status as plain text.
pub(crate) fn plain_error_page(refused: &Refused<'_>) -> Response {
    let phrase = refused.reason.status().canonical_reason().unwrap_or("Error");
    Response::builder()
        .content_type("text/plain; charset=utf-8")
        .body(format!("{phrase}\n"))
}
