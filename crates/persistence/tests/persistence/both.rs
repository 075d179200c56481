//! Scenarios that run on PostgreSQL and on SQLite, with the same results.

mod access_changes;
mod audit_failure;
mod audit_feed;
mod audit_search;
mod bulk_revocation;
mod changes;
mod clock;
mod corrupt_rows;
mod dead_ancestors;
mod ends_under_lock;
mod filtered_lists;
mod first_run;
mod foreign_project;
mod key_tree;
mod large_key_trees;
mod leaving;
mod many_keys;
mod many_sessions;
mod names;
mod newer_versions;
mod older_texts;
mod query_plans;
mod refused_attempts;
mod retention;
pub(crate) mod scene;
mod surplus_keys;
