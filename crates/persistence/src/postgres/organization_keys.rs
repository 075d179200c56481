//! What PostgreSQL is asked of an organization's keys in words of its own, since it locks them and names candidates otherwise.

pub(super) mod revoke;
pub(super) mod sources;
