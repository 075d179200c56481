//! A shift planner, say, that gives its people Keyward's personal API keys.
//!
//! It has people and sign-in already, and keeps everything in one file of [redb](https://www.redb.org). So it
//! implements the key ports of `keyward_domain` over that file, and takes every rule about keys from there:
//!
//! | port | where |
//! |---|---|
//! | [`ApiKeys`](keyward_domain::ports::ApiKeys) | `api_keys` |
//! | [`Credentials`](keyward_domain::ports::Credentials) | `credentials` |
//! | [`Memberships`](keyward_domain::ports::Memberships) | `memberships` |
//! | [`AuditLog`](keyward_domain::ports::AuditLog) | `audit_log` |
//! | [`Clock`](keyward_domain::clock::Clock), [`Random`](keyward_domain::random::Random) | `system` |

mod api_keys;
mod audit_log;
mod columns;
mod credentials;
mod directory;
mod key_table;
mod memberships;
mod store;
mod system;
mod tables;

pub use store::FileStore;
pub use system::{SystemClock, SystemRandom};
