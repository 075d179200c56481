//! The built binary, asked as people and scripts ask it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod administration;
mod browser;
mod configuration;
mod data_directory;
mod keyward;
mod offline;
mod refusals;
mod server;
mod serving;
mod setup;
