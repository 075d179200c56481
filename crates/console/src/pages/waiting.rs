//! Pages for exceeded rate limits.

use askama::Template;
use keyward_domain::rate::Throttled;
use poem::Response;
use poem::http::{StatusCode, header};

use crate::answer::html;
use crate::refusal::Refusal;

/// The page that says to wait.
pub(super) fn too_many(page: &impl Template, throttled: Throttled) -> Result<Response, Refusal> {
    let mut response = html(StatusCode::TOO_MANY_REQUESTS, page)?;
    let seconds = throttled.whole_seconds();
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    Ok(response)
}
