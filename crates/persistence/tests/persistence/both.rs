//! What both databases do alike: each scenario is told once, and played on PostgreSQL and on SQLite.

mod audit_failure;
mod audit_feed;
mod audit_search;
mod changes;
mod clock;
mod corrupt_rows;
mod dead_lines;
mod first_run;
mod key_tree;
mod large_key_trees;
mod leaving;
mod many_sessions;
mod names;
mod narrow_lists;
mod newer_words;
mod older_texts;
mod project_of_another_organization;
mod questions;
mod refused_attempts;
mod retention;
pub(crate) mod scene;
mod thousands;
