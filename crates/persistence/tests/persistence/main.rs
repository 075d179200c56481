//! Tests of both stores against real databases, and of moves between them.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

#[macro_use]
mod database;

mod asked;
mod both;
mod exports;
mod postgres;
mod schema_file;
mod sqlite;
mod transfer;
