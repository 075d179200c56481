//! Test fixtures, and tests that need private items of this module.

pub(super) mod noted_statements;
mod page_caches;
mod plans;
mod prepared_once;
pub(super) mod scene;
mod statement_counts;
mod steps;
mod strangers;
