//! The API over a real socket, behind the real front door, with storage in memory.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod answer;
mod api;
mod authentication;
mod bad_input;
mod change_rate;
mod counted_waits;
mod create_api_key;
mod delete_api_key;
mod deprecations;
mod document;
mod documented;
mod edges;
mod expiry;
mod forward_auth;
mod get_api_key;
mod get_project;
mod get_user;
mod github_leaks;
mod idempotency_keys;
mod introspection;
mod large_reports;
mod last_use;
mod leaked_keys;
mod list_api_keys;
mod list_projects;
mod pages;
mod planned_ends;
mod preconditions;
mod rate_limits;
mod reference;
mod restricted_keys;
mod rotation;
mod scene;
mod storage_failures;
mod update_api_key;
