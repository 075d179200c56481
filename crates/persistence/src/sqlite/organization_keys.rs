//! What SQLite is asked of an organization's keys in words of its own: its planner is led by the hand.

pub(super) mod sources;
