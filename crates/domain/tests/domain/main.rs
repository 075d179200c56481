//! The domain from outside: only its public face, in-memory stores, a fixed clock and seeded randomness.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod authenticating;
mod broken_store;
mod broken_store_detection;
mod console_sessions;
mod following_the_audit_log;
mod inviting;
mod issuing_keys;
mod joining;
mod key_lifecycle;
mod logged_events;
mod managing_accounts;
mod managing_keys;
mod managing_members;
mod managing_organization_keys;
mod managing_projects;
mod memory_store;
mod misread_column_detection;
mod own_account;
mod owners_changes;
mod planned_end_detection;
mod propagation;
mod race_detection;
mod reading_the_audit_trail;
mod refused_uses;
mod reporting_leaks;
mod restricted_keys;
mod retention;
mod rotation_detection;
mod secret_scanning;
mod setting_up;
mod sign_in_limits;
mod signing_in;
