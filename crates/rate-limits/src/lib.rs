//! Rate limits of requests, in the memory of one server process.
//!
//! A limit allows a [quota](Quota) of requests to whomever it counts: an API key, an organization, or the
//! [network](ClientNetwork) of an address. The algorithm is that of the crate `governor` (GCRA), so a quota
//! comes back evenly, and a counter is one number. This crate adds what `governor` lacks: a bound on the
//! number of counters, the choice of who is counted together, and the fields in answers.
//!
//! | to read about | look at |
//! |---|---|
//! | how often something is allowed | [`Quota`] |
//! | one limit and its bounded memory | [`Limiter`] |
//! | addresses that send tokens which are not accepted | [`FailedAuthentications`] |
//! | requests whose sender is known | [`RequestLimits`] |
//! | what answers report | [`LimitState`] |
//!
//! Limits in the database, of sign-ins and of changes, are those of `keyward-domain`: each server counts in
//! them. These are for what happens too often to be written down.

mod clock;
mod counters;
mod failed_authentications;
mod limit_state;
mod limiter;
mod network;
mod quota;
mod requests;

pub use clock::Elapsed;
pub use failed_authentications::{FailedAuthentications, LookupPermit};
pub use limit_state::{Exceeded, LimitState, rate_limit, rate_limit_policy};
pub use limiter::Limiter;
pub use network::ClientNetwork;
pub use quota::{InvalidQuota, Quota};
pub use requests::{Counted, CountedKey, RequestLimits, RequestQuotas, Verifier};
