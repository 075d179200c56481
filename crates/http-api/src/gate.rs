//! What every request of an operation passes.

use keyward_domain::access::Authenticate;

use crate::rate_limits::RateLimits;

/// Who sends a request, and how often it may.
pub(crate) struct Gate {
    pub(crate) authenticate: Authenticate,
    pub(crate) rate_limits: RateLimits,
}
