//! The store against a real PostgreSQL.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod audit_failure;
mod conformance;
mod corrupt_rows;
mod crowds;
mod faults;
mod fixture;
mod interruptions;
mod leaving;
mod lineage;
mod migrations;
mod names;
mod proxy;
mod retention;
mod revoking_thousands;
mod schema;
mod searches;
mod tls;
