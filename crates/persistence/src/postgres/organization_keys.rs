//! What PostgreSQL is asked of an organization's keys in words of its own, since it names candidates otherwise.

pub(super) mod sources;
