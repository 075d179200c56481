//! What every request of an operation passes.

use keyward_domain::access::Authenticate;
use poem::Request;

use crate::problem::Problem;
use crate::rate_limits::RateLimits;
use crate::services::Services;

/// Who sends a request, and how often it may.
pub(crate) struct Gate {
    pub(crate) authenticate: Authenticate,
    pub(crate) rate_limits: RateLimits,
}

impl Gate {
    pub(crate) fn of(request: &Request) -> Result<&Self, Problem> {
        Ok(&Services::of(request)?.gate)
    }
}
