//! What SQLite is asked of an organization's keys in words of its own: it locks none, and its planner is led by the hand.

pub(super) mod revoke;
pub(super) mod sources;
