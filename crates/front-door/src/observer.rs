//! A callback after each request.

use std::{sync::Arc, time::Duration};

use poem::{
    Response,
    http::{Method, Uri},
};
use tracing::Span;

/// A request that is over.
#[derive(Debug)]
pub struct Exchanged<'a> {
    /// How it was asked.
    pub method: &'a Method,
    /// The request target.
    pub uri: &'a Uri,
    /// The answer, the body of which is yet to be sent. Its extensions are those that the application set.
    /// There is none if the client left before.
    pub response: Option<&'a Response>,
    /// From the end of the request's head until now.
    pub duration: Duration,
    /// Its span, if a [`Tracer`](crate::Tracer) began its trace.
    pub trace: Option<&'a Span>,
}

/// Called after each request, on the thread that answers it: it must not block.
pub type Observer = Arc<dyn Fn(&Exchanged<'_>) + Send + Sync>;
