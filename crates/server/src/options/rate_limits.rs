//! The rate limits of requests.

use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use keyward_http_api::RateLimits;
use keyward_rate_limits::{
    Elapsed, FailedAuthentications, InvalidQuota, Limiter, Quota, RequestLimits, RequestQuotas,
};

/// The maximum number of addresses whose reports of leaked keys are counted, which take 2 MiB.
const REPORTING_ADDRESSES: usize = 10_000;

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
    /// How many requests one API key may send; also those that gateways ask about
    #[arg(
        long,
        env = "KEYWARD_LIMIT_PER_KEY",
        value_name = "REQUESTS/WINDOW",
        default_value = "off"
    )]
    pub(crate) limit_per_key: QuotaOrOff,
    /// How many requests with accepted API keys may come from an address (IPv6: a /64 network)
    #[arg(
        long,
        env = "KEYWARD_LIMIT_PER_ADDRESS",
        value_name = "REQUESTS/WINDOW",
        default_value = "off"
    )]
    pub(crate) limit_per_address: QuotaOrOff,
    /// How many requests the API keys of one organization may send together; also those that gateways ask
    /// about
    #[arg(
        long,
        env = "KEYWARD_LIMIT_PER_ORGANIZATION",
        value_name = "REQUESTS/WINDOW",
        default_value = "off"
    )]
    pub(crate) limit_per_organization: QuotaOrOff,
    /// How often one gateway (by its own address) or one verifier (by its name) may ask about requests of
    /// others
    #[arg(
        long,
        env = "KEYWARD_LIMIT_PER_VERIFIER",
        value_name = "REQUESTS/WINDOW",
        default_value = "off"
    )]
    pub(crate) limit_per_verifier: QuotaOrOff,
    /// How often an address (IPv6: a /64 network) may report leaked keys, with up to 100 tokens each time, or
    /// `off`
    #[arg(
        long,
        env = "KEYWARD_LIMIT_LEAK_REPORTS",
        value_name = "REQUESTS/WINDOW",
        default_value = "30/1m"
    )]
    pub(crate) limit_leak_reports: QuotaOrOff,
}

impl RateLimitOptions {
    pub(crate) fn limits(&self, clock: &Elapsed) -> RateLimits {
        let of_failures = |quota| Arc::new(FailedAuthentications::new(quota, Arc::clone(clock)));
        RateLimits {
            failed_authentications: self.limit_failed_authentication.0.map(of_failures),
            leak_reports: self
                .limit_leak_reports
                .0
                .map(|quota| Arc::new(Limiter::new("leak-reports", quota, REPORTING_ADDRESSES, clock))),
            requests: RequestLimits::new(self.quotas(), clock).map(Arc::new),
        }
    }

    fn quotas(&self) -> RequestQuotas {
        RequestQuotas {
            per_key: self.limit_per_key.0,
            per_address: self.limit_per_address.0,
            per_organization: self.limit_per_organization.0,
            per_verifier: self.limit_per_verifier.0,
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
