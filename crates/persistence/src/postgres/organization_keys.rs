//! PostgreSQL's own queries for an organization's keys.

pub(super) mod sources;
