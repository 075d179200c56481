//! SQLite, embedded: one file in a data directory, and nothing to install.
//!
//! # What holds here
//! - **One port method is one transaction.** A change and its audit events commit together or not at all.
//!   (Only a purge of keys may take several; all but the last record which former members have no keys left,
//!   or give children a new parent.)
//! - **An answered change is durable.** A commit is synced to disk before it is answered, so neither a killed
//!   process nor a power cut undoes it.
//! - **A change finishes even if the caller stops waiting.** It runs in its own task, see [`SqliteStore`].
//! - **A read is cancelled when its caller stops waiting**, and a slow read does not keep others from
//!   starting. A key's lookup runs on the caller's own thread while one worker thread stays free, see
//!   `lookup`.
//! - **Changes are serialized**, in this process and in others that use the file: each acquires the write
//!   lock before it reads. Reads run concurrently and see what was committed before they began.
//! - **A file that is moved, replaced or removed is detected**: the store no longer reads or writes it.
//! - **Every statement about keys names the consumer**, so that another consumer's key is treated as absent.
//! - **Keys can be revoked on a full disk**: disk space is reserved for revocations.
//! - **No clock but the caller's is read**: every timestamp that is stored or compared comes from the caller,
//!   or from the clock of the caller's act, once a change has its lock.
//!
//! The file must be on a local disk: processes that use it share memory (SQLite documentation, *Write-Ahead
//! Logging*).

mod audit_log;
mod change;
mod config;
mod count_change;
mod credentials;
mod database_file;
mod dialect;
pub(crate) mod errors;
#[path = "sql/events.rs"]
mod events;
mod file_identity;
#[path = "sql/found_keys.rs"]
mod found_keys;
mod import;
mod key_tree;
mod last_uses;
mod leaked_keys;
mod leaving;
mod left_log;
mod listed;
mod lookup;
mod lookup_connections;
mod migrations;
mod moved;
mod new_files;
mod not_cancelled;
mod numbering;
mod open_error;
mod organization_keys;
mod readers;
mod ready;
pub(crate) mod reserve;
mod retention;
pub(crate) mod schema;
mod search;
#[path = "sql/mod.rs"]
mod sql;
mod store;
#[path = "sql/tables.rs"]
mod tables;
mod transfer;
mod trial_change;
#[path = "sql/validity.rs"]
mod validity;
mod write_ahead_log;

pub use config::SqliteConfig;
pub use migrations::MigrateError;
pub use moved::Moved;
pub use new_files::give_to_owner_of;
pub use open_error::OpenError;
pub use store::SqliteStore;

#[cfg(test)]
mod tests;
