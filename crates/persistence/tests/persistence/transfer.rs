//! Exports and imports between both databases.

mod catalogue;
mod everything;
mod isolation;
mod refusals;
mod round_trip;
mod snapshot;
mod unreadable_rows;
