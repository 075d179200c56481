//! The trait for tracing requests.

use std::{fmt, net::IpAddr, sync::Arc};

use poem::http::{Method, Uri};
use tracing::Span;

use crate::{shown_path::short_path, trace_context::TraceParent};

/// A request whose head is here.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    /// How it is asked.
    pub method: &'a Method,
    pub(crate) uri: &'a Uri,
    /// The address of the client, behind trusted proxies too.
    pub client: IpAddr,
    /// Which trace it says to belong to.
    pub parent: Option<TraceParent<'a>>,
    /// Whether a trusted proxy sent it. Otherwise a client may have invented it.
    pub is_from_proxy: bool,
}

impl Received<'_> {
    /// Its path as the log has it: without a query, and without parts that are long enough to be a token.
    #[must_use]
    pub fn path(&self) -> String {
        short_path(self.uri.path()).into_owned()
    }
}

/// Without the query, which may hold secrets.
impl fmt::Debug for Received<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Received")
            .field("method", self.method)
            .field("path", &self.path())
            .field("client", &self.client)
            .field("parent", &self.parent)
            .field("is_from_proxy", &self.is_from_proxy)
            .finish()
    }
}

/// The target of the spans of requests that are traced, and of no others.
pub const TRACED: &str = "keyward_front_door::traced";

/// Begins the trace of a request, with the span in which it is answered. Returns the trace's id, 32
/// hexadecimal digits, which the log calls `trace_id`. It runs on the thread that answers the request: it
/// must not block.
pub type Tracer = Arc<dyn Fn(&Received<'_>, &Span) -> String + Send + Sync>;
