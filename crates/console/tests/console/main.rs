//! The console over a real socket, behind the front door, with in-memory adapters.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed expectation is a failed test"
)]

mod api_keys;
mod assets;
mod bad_requests;
mod browser;
mod create_key;
mod edit_key;
mod failures;
mod field_rules;
mod headers;
mod list_words;
mod membership;
mod revoke_key;
mod running;
mod same_origin;
mod sessions;
mod setup;
mod sign_in;
