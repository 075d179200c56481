//! Limits how often clients may try to sign in, and how many refused attempts are recorded.
//!
//! Each bucket has a [rate](crate::rate): a store keeps one moment for it.

mod account;
mod attempts;
mod bucket;
mod digest;
mod event_limit;
mod networks;
#[cfg(test)]
mod tests;

pub use account::CountedAccount;
pub use bucket::{AttemptKind, FullBucket, ThrottleBucket};
pub use event_limit::EventLimit;
