//! Stores Keyward's keys, people and audit events: the domain's ports over databases.
//!
//! ```no_run
//! use keyward_persistence::postgres::{PostgresConfig, PostgresStore};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = PostgresConfig::from_url("postgres://keyward@db.example.org/keyward?sslmode=verify-full")?;
//! let store = PostgresStore::connect(config)?;
//! store.migrate().await?;
//! assert!(store.is_ready().await?);
//! # Ok(())
//! # }
//! ```
//!
//! Or without a server, in a file of a data directory:
//!
//! ```no_run
//! use keyward_persistence::sqlite::{SqliteConfig, SqliteStore};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = SqliteStore::open(SqliteConfig::in_directory("keyward-data"))?;
//! store.migrate().await?;
//! assert!(store.is_ready().await?);
//! # Ok(())
//! # }
//! ```
//!
//! One store implements every storage port, and is cheap to clone. It reads no clock and has no randomness of
//! its own. The two differ in nothing that the domain can see.

#![expect(
    clippy::duplicate_mod,
    reason = "`sql` is compiled for each database: what both are asked in the same words is written once"
)]

mod abort;
mod claim;
mod client;
mod columns;
mod concern;
mod ended_sessions;
mod fair_semaphore;
mod feed;
mod key_change_turns;
mod key_tree;
mod known_migrations;
mod limit;
mod narrowing;
mod noted_changes;
mod obstacle;
pub mod postgres;
mod precheck;
mod progress;
mod retention;
mod schema_state;
mod search;
mod shared_error;
pub mod sqlite;
mod stored_row;
mod task;
mod traces;
pub mod transfer;
mod trial_change;
mod valid_keys;

pub use client::{on_behalf_of, on_behalf_of_several_clients};
pub use obstacle::Obstacle;
pub use schema_state::{Migrated, SchemaState, UnusableSchema};
pub use traces::TRACES;
pub use trial_change::TrialFailure;
