//! PostgreSQL, through diesel-async.
//!
//! # What holds here
//! - **One port method is one transaction.** A change and its audit events commit together or not at all.
//!   (Only a purge of keys may take several; all but the last record which former members have no keys left,
//!   or give children a new parent.)
//! - **A change finishes even if the caller stops waiting.** It runs in its own task, see [`PostgresStore`].
//!   A read does too, so that no connection returns to the pool with a statement still running on it.
//! - **Every statement about keys names the consumer**, so that another consumer's key is treated as absent.
//! - **Locks are taken in one order**: an organization before its memberships, a membership before its keys,
//!   a user before their sessions. Every transaction runs at READ COMMITTED, so a statement after a lock sees
//!   everything that was committed before the lock was acquired.
//! - **Only the primary is queried**: a standby may lag behind a revocation that was already answered.
//! - **No clock but the caller's is read**: every timestamp that is stored or compared comes from the caller,
//!   or from the clock of the caller's act, once a change has its lock.
//!
//! PostgreSQL must speak English to its clients (`lc_messages` of `C` or `en_…`, as in every official image
//! and managed service), or timeouts are reported as defects: diesel passes on the server's message, but not
//! its SQLSTATE. See [`PostgresStore::non_english_messages`].
//!
//! A connection pooler between Keyward and PostgreSQL must pool by session. One that pools by transaction is
//! refused.

mod addresses;
mod audit_log;
mod begin;
mod change;
mod config;
mod connection;
mod connection_refused;
mod count_change;
mod credentials;
mod database_url;
mod dialect;
pub(crate) mod errors;
#[path = "sql/events.rs"]
mod events;
mod first_rows;
#[path = "sql/found_keys.rs"]
mod found_keys;
mod hints;
mod import;
mod key_tree;
mod language;
mod last_uses;
mod leaked_keys;
mod leaving;
mod liveness;
mod lookup_queue;
mod migrations;
mod numbering;
mod organization_keys;
mod pooler;
mod prepared_once;
mod privileges;
mod request_lock;
mod retention;
pub(crate) mod schema;
mod search;
#[path = "sql/mod.rs"]
mod sql;
mod standby;
mod store;
#[path = "sql/tables.rs"]
mod tables;
mod tls;
mod transfer;
mod trial_change;
#[path = "sql/validity.rs"]
mod validity;

pub use config::PostgresConfig;
pub use connection_refused::ConnectionRefused;
pub use database_url::InvalidDatabaseUrl;
pub use language::MessageLanguage;
pub use migrations::MigrateError;
pub use store::{ConnectError, PoolUsage, PostgresStore};
pub use tls::TlsError;

pub use crate::fair_semaphore::WaitObserver;
