//! The built binary, asked as people and scripts ask it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod administration;
mod after_a_restore;
mod alert_rules;
mod audit_log;
mod broken_outputs;
mod browser;
mod configuration;
mod connection_failures;
mod damaged_file;
mod data_directory;
mod demo;
mod exposure;
mod following;
mod full_disk;
mod help;
mod keyward;
mod last_use;
mod leaked_keys;
mod metrics;
mod missing_databases;
mod needing_a_database;
mod offline;
mod organizations;
mod other_versions;
mod place;
mod read_only_root;
mod readiness;
mod refusals;
mod refused_addresses;
mod refused_data_directories;
mod refused_database_urls;
mod refused_events;
mod refused_uses;
mod retention;
mod revoking;
mod server;
mod serving;
mod setup;
mod setup_links;
mod small_disk;
mod traces;
mod transfer;
mod two_roles;
mod verifiers;
mod versions;
