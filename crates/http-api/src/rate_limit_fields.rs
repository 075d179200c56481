//! The fields `RateLimit` and `RateLimit-Policy`.

use std::sync::{Arc, OnceLock};

use keyward_rate_limits::{Exceeded, Standing, rate_limit, rate_limit_policy};
use poem::http::{HeaderMap, HeaderName, HeaderValue};
use poem::{Endpoint, Request, Response};

use crate::paths::LEAKED_KEYS;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// A limit that refused a request.
#[derive(Debug)]
pub(crate) enum ExceededLimit {
    /// One that a server counts in its memory, and that is told only when it is exceeded.
    OfRequests(Exceeded),
    /// One that is told with every answer by [`RateLimitFields`].
    ToldAnyway(Exceeded),
    /// That of creating and editing keys, of which only the wait is known here.
    OfChanges { seconds: i64 },
}

/// The name of the limit of creating and editing keys.
const CHANGES: &str = "changes";

impl ExceededLimit {
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        match self {
            Self::OfRequests(exceeded) => tell(&[exceeded.standing()], headers),
            Self::ToldAnyway(_) => {}
            Self::OfChanges { seconds } => {
                append(RATE_LIMIT, format!("\"{CHANGES}\";r=0;t={seconds}"), headers);
            }
        }
    }

    /// The name by which clients know it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::OfRequests(exceeded) | Self::ToldAnyway(exceeded) => exceeded.limit(),
            Self::OfChanges { .. } => CHANGES,
        }
    }
}

/// Tells a client how it stands to the limits that counted its request.
fn tell(standings: &[Standing], headers: &mut HeaderMap) {
    append(RATE_LIMIT, rate_limit(standings), headers);
    append(RATE_LIMIT_POLICY, rate_limit_policy(standings), headers);
}

/// A list may be split over several fields.
fn append(name: HeaderName, value: String, headers: &mut HeaderMap) {
    // Names of limits have no other characters.
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.append(name, value);
    }
}

/// What is to be told with the answer to a request, as data of the request.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<OnceLock<Vec<Standing>>>);

impl Told {
    /// A request is counted once.
    pub(crate) fn set(&self, standings: Vec<Standing>) {
        let _ = self.0.set(standings);
    }
}

/// Adds to every answer, be it an error or not, how its client stands to the limits that counted the request.
pub(crate) struct RateLimitFields<E> {
    pub(crate) inner: E,
    /// Whether there are limits of authenticated requests. If not, this costs nothing but for reports of leaked keys.
    pub(crate) are_configured: bool,
}

impl<E: Endpoint<Output = Response>> Endpoint for RateLimitFields<E> {
    type Output = Response;

    /// Not an `async fn`: its future would hold the request, too.
    fn call(&self, mut request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        let may_count = self.are_configured || request.uri().path() == LEAKED_KEYS;
        let told = may_count.then(Told::default);
        if let Some(told) = &told {
            request.set_data(told.clone());
        }
        let answering = self.inner.call(request);
        async move {
            let mut answer = answering.await?;
            let standings = told.as_ref().and_then(|told| told.0.get());
            if let Some(standings) = standings.filter(|standings| !standings.is_empty()) {
                tell(standings, answer.headers_mut());
            }
            Ok(answer)
        }
    }
}
