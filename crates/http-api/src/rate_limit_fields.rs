//! The fields `RateLimit` and `RateLimit-Policy`.

use keyward_rate_limits::{Standing, rate_limit, rate_limit_policy};
use poem::http::{HeaderMap, HeaderName, HeaderValue};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Tells a client how it stands to the limits that counted its request.
pub(crate) fn insert(standings: &[Standing], headers: &mut HeaderMap) {
    let fields = [
        (RATE_LIMIT, rate_limit(standings)),
        (RATE_LIMIT_POLICY, rate_limit_policy(standings)),
    ];
    for (name, value) in fields {
        // Names of limits have no other characters.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
}
