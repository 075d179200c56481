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
mod large_families;
mod migrations;
mod proxy;
mod retention;
mod revoking_thousands;
mod schema;
mod searches;
mod tls;
