//! The store against a real PostgreSQL.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod conformance;
mod crowds;
mod faults;
mod fixture;
mod interruptions;
mod migrations;
mod proxy;
mod schema;
mod searches;
mod tls;
