//! SQLite's own queries for an organization's keys, with hints for its planner.

pub(super) mod sources;
