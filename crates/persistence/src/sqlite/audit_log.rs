//! Events, as SQLite hands them out in the order of commits.

mod feed;
