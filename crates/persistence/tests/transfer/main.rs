//! Exports and imports between both databases.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod catalogue;
mod databases;
mod everything;
mod isolation;
mod refusals;
mod round_trip;
mod snapshot;
