//! The store on a SQLite file.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod child;
mod conformance;
mod corrupt_rows;
mod durability;
mod fixture;
mod interruptions;
mod large_families;
mod migrations;
mod moved_file;
mod opening;
mod processes;
mod retention;
mod schema;
