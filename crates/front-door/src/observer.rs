//! Who is told of every request when it is over.

use std::{sync::Arc, time::Duration};

use poem::{Response, http::Uri};

/// A request that is over.
#[derive(Debug)]
pub struct Exchanged<'a> {
    /// What was asked for.
    pub uri: &'a Uri,
    /// The answer, the body of which is yet to be sent. Its extensions are those that the application set. There is none
    /// if the client left before.
    pub response: Option<&'a Response>,
    /// From the end of the request's head until now.
    pub duration: Duration,
}

/// Is told of every request when it is over, on the thread that answers it: it must not block.
pub type Observer = Arc<dyn Fn(&Exchanged<'_>) + Send + Sync>;
