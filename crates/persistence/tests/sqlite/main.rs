//! The store on a SQLite file.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod audit_failure;
mod child;
mod conformance;
mod corrupt_rows;
mod durability;
mod fixture;
mod interruptions;
mod leaving;
mod lineage;
mod migrations;
mod moved_file;
mod names;
mod opening;
mod processes;
mod retention;
mod schema;
