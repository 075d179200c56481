//! The front door over real sockets, asked byte by byte.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod app;
mod behind_nginx;
mod bodies;
mod client;
mod client_address;
mod connections;
mod drain;
mod failures;
mod headers;
mod log;
mod observer;
mod requests;
mod running;
mod slow_clients;
