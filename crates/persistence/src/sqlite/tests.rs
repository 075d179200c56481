//! What the tests of this module need, and what takes more than its public items to ask.

pub(super) mod noted_statements;
mod page_caches;
mod plans;
mod prepared_once;
pub(super) mod scene;
mod statement_counts;
mod steps;
mod strangers;
