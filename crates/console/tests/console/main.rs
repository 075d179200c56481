//! The console over a real socket, behind the front door, with in-memory adapters.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed expectation is a failed test"
)]

mod account;
mod api_keys;
mod assets;
mod audit_log;
mod bad_requests;
mod browser;
mod change_rate;
mod create_key;
mod documentation;
mod edit_key;
mod expiry;
mod field_rules;
mod flash;
mod forms_of_other_users;
mod head_requests;
mod headers;
mod in_memory;
mod invitations;
mod joining;
mod key_rights;
mod leaks;
mod leaving;
mod list_texts;
mod log;
mod longest_life;
mod member_expiration;
mod members;
mod membership;
mod operations;
mod organization_keys;
mod outdated_forms;
mod owners_changes;
mod planned_ends;
mod preview_failures;
mod project;
mod projects;
mod query_counts;
mod revoke_key;
mod rotate_key;
mod running;
mod same_origin;
mod sessions;
mod setup;
mod sign_in;
mod storage_failures;
mod users_of_forms;
mod ways_back;
