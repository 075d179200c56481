//! The fields `RateLimit` and `RateLimit-Policy`.

use std::sync::{Arc, OnceLock};

use keyward_domain::rate::{Rate, whole_seconds};
use keyward_rate_limits::{Exceeded, LimitState, rate_limit, rate_limit_policy};
use poem::http::{HeaderMap, HeaderName, HeaderValue};
use poem::{Endpoint, Request, Response};

use crate::paths::LEAKED_KEYS;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// A limit that refused a request.
#[derive(Debug)]
pub(crate) enum ExceededLimit {
    /// One that a server counts in its memory, and that only a refusal reports.
    OfRequests(Exceeded),
    /// One that every answer reports, by [`RateLimitFields`].
    ReportedByEveryAnswer(Exceeded),
    /// The limit of creating and editing keys, which the database counts.
    OfChanges { rate: Rate, seconds: i64 },
}

/// The name of the limit of creating and editing keys.
const CHANGES: &str = "changes";

impl ExceededLimit {
    pub(crate) fn write_to(&self, headers: &mut HeaderMap) {
        match self {
            Self::OfRequests(exceeded) => write_fields(&[exceeded.state()], headers),
            Self::ReportedByEveryAnswer(_) => {}
            Self::OfChanges { rate, seconds } => {
                let (quota, window) = (rate.burst(), whole_seconds(rate.interval() * rate.burst()));
                append(RATE_LIMIT, format!("\"{CHANGES}\";r=0;t={seconds}"), headers);
                append(
                    RATE_LIMIT_POLICY,
                    format!("\"{CHANGES}\";q={quota};w={window}"),
                    headers,
                );
            }
        }
    }

    /// The name by which clients know it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::OfRequests(exceeded) | Self::ReportedByEveryAnswer(exceeded) => exceeded.limit(),
            Self::OfChanges { .. } => CHANGES,
        }
    }
}

/// Writes the state of the limits that counted a request.
fn write_fields(states: &[LimitState], headers: &mut HeaderMap) {
    append(RATE_LIMIT, rate_limit(states), headers);
    append(RATE_LIMIT_POLICY, rate_limit_policy(states), headers);
}

/// Adds to a list. It could be split over several fields, but many clients read only the first.
fn append(name: HeaderName, value: String, headers: &mut HeaderMap) {
    let list = match headers.get(&name).and_then(|list| list.to_str().ok()) {
        Some(list) => format!("{list}, {value}"),
        None => value,
    };
    // Names of limits have no other characters.
    if let Ok(list) = HeaderValue::try_from(list) {
        headers.insert(name, list);
    }
}

/// The limits that the answer to a request reports, as data of the request.
#[derive(Clone, Default)]
pub(crate) struct LimitReport(Arc<OnceLock<Vec<LimitState>>>);

impl LimitReport {
    /// A request is counted once.
    pub(crate) fn set(&self, states: Vec<LimitState>) {
        let _ = self.0.set(states);
    }
}

/// Adds to every answer, be it an error or not, the state of the limits that counted the request.
pub(crate) struct RateLimitFields<E> {
    pub(crate) inner: E,
    /// Whether there are limits of authenticated requests. If not, this costs nothing but for reports of
    /// leaked keys.
    pub(crate) are_configured: bool,
}

impl<E: Endpoint<Output = Response>> Endpoint for RateLimitFields<E> {
    type Output = Response;

    /// Not an `async fn`: its future would hold the request, too.
    fn call(&self, mut request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        let may_count = self.are_configured || request.uri().path() == LEAKED_KEYS;
        let report = may_count.then(LimitReport::default);
        if let Some(report) = &report {
            request.set_data(report.clone());
        }
        let answering = self.inner.call(request);
        async move {
            let mut answer = answering.await?;
            let states = report.as_ref().and_then(|report| report.0.get());
            if let Some(states) = states.filter(|states| !states.is_empty()) {
                write_fields(states, answer.headers_mut());
            }
            Ok(answer)
        }
    }
}
