//! The store on a SQLite file.

mod child;
mod conformance;
mod corrupt_rows;
mod durability;
mod fixture;
mod interruptions;
mod migrations;
mod moved_file;
mod opening;
mod processes;
mod retention;
mod schema;
mod trial_change;
