//! SQLite, embedded: one file in a data directory, and nothing to install.
//!
//! # What holds here
//! - **One port method is one transaction.** A change and its audit events commit together or not at all. (Only the removal
//!   of dead keys may take several, of which all but the last one note who has no keys left.)
//! - **What was answered is on the disk.** A commit is synced before it is answered, so neither a killed process nor a
//!   power cut takes it back.
//! - **A change finishes, whoever stops waiting.** It runs in a task of its own, see [`SqliteStore`].
//! - **A read ends when nobody waits for it**, and one that takes long does not keep others from beginning.
//! - **Changes come one after the other**, in this process and in others that use the file: each takes the write lock
//!   before it reads. Reads go on beside them and see what was committed before they began.
//! - **A file that is moved, replaced or removed is noticed**: nothing is read from it or written to it any more.
//! - **Every statement about keys names the consumer**, so that another consumer's key is as good as absent.
//! - **A full disk keeps nobody from revoking**: room is kept for what takes access away.
//! - **No time is read**: every moment that is stored or compared comes from the caller.
//!
//! The file must be on a local disk: processes that use it share memory (SQLite documentation, *Write-Ahead Logging*).

mod audit_log;
mod change;
mod config;
mod count_change;
mod database_file;
mod dialect;
mod errors;
#[path = "sql/events.rs"]
mod events;
mod file_identity;
mod import;
mod last_uses;
mod leaving;
mod lineage;
mod listed;
mod migrations;
mod open_error;
mod organization_keys;
mod readers;
mod ready;
mod reserve;
mod retention;
pub(crate) mod schema;
mod search;
#[path = "sql/mod.rs"]
mod sql;
mod still_awaited;
mod store;
mod transfer;
mod trial_change;
#[path = "sql/validity.rs"]
mod validity;

pub use config::SqliteConfig;
pub use migrations::MigrateError;
pub use open_error::OpenError;
pub use store::SqliteStore;

#[cfg(test)]
mod tests;
