//! What both databases do alike: each scenario is told once, and played on PostgreSQL and on SQLite.
#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

#[macro_use]
mod database;

mod audit_failure;
mod changes;
mod corrupt_rows;
mod first_run;
mod leaving;
mod lineage;
mod names;
mod scene;
mod thousands;
