//! The store against a real PostgreSQL.

mod addresses;
mod audit_feed;
mod concurrency;
mod conformance;
mod faults;
mod fixture;
mod idle_connections;
mod interruptions;
mod locks;
mod lookups;
mod migrations;
mod poolers;
pub(crate) mod proxy;
mod repeated_requests;
mod retention;
mod revoking_thousands;
mod round_trips;
mod schema;
mod searches;
mod shares;
mod standbys;
mod tls;
mod trial_change;
