//! The rate limits of requests.

use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use keyward_http_api::RateLimits;
use keyward_rate_limits::{Elapsed, FailedAuthentications, InvalidQuota, Quota};

/// How often requests are allowed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rate limits of requests, by this server process")]
pub(crate) struct RateLimitOptions {
    /// How often an address (IPv6: a /64 network) may send API keys that are not accepted, or `off`
    ///
    /// Keys that are accepted are never refused because of others that are not, from wherever they come.
    #[arg(
        long,
        env = "KEYWARD_LIMIT_FAILED_AUTHENTICATION",
        value_name = "REQUESTS/WINDOW",
        default_value = "60/1m"
    )]
    pub(crate) limit_failed_authentication: QuotaOrOff,
}

impl RateLimitOptions {
    pub(crate) fn limits(&self, clock: &Elapsed) -> RateLimits {
        let of_failures = |quota| Arc::new(FailedAuthentications::new(quota, Arc::clone(clock)));
        RateLimits {
            failed_authentications: self.limit_failed_authentication.0.map(of_failures),
        }
    }
}

/// A quota, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuotaOrOff(Option<Quota>);

impl FromStr for QuotaOrOff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        let quota = text.parse();
        quota
            .map(|quota| Self(Some(quota)))
            .map_err(|error: InvalidQuota| format!("{error}, or off"))
    }
}
