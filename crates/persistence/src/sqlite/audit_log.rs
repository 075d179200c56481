//! Events, as SQLite hands them out in the order of commits.

pub(super) mod feed;
