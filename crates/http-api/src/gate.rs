//! What every request of an operation passes.

use std::sync::Arc;

use keyward_domain::access::Authenticate;
use poem::Request;

use crate::problem::Problem;
use crate::rate_limits::RateLimits;

/// Who sends a request, and how often it may. It is data of each request, as one, because poem copies each.
pub(crate) struct Gate {
    pub(crate) authenticate: Authenticate,
    pub(crate) rate_limits: RateLimits,
}

impl Gate {
    pub(crate) fn of(request: &Request) -> Result<&Self, Problem> {
        let gate = request.data::<Arc<Self>>();
        gate.map(AsRef::as_ref)
            .ok_or_else(|| Problem::internal("the endpoint was built without its gate"))
    }
}
