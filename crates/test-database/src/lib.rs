//! Gives each test a fresh PostgreSQL database cloned from a migrated template.
//!
//! ```no_run
//! use keyward_test_database::TestDatabase;
//! # async fn migrate(_url: &str) -> Result<(), std::io::Error> { Ok(()) }
//!
//! # async fn example() -> Result<(), keyward_test_database::Error> {
//! let database = TestDatabase::migrated("text of all migrations", async |url: String| migrate(&url).await).await?;
//! println!("connect to {}", database.url()); // dropped with `database`
//! # Ok(())
//! # }
//! ```
//!
//! The first available of these [backends](Backend) provides the server; without any, tests fail and say how
//! to get one, never a skipped test:
//! 1. `TEST_DATABASE_URL`: a server that runs already, as a role that may create databases.
//!    `cargo xtask test` starts one server for the whole run and sets this, because nextest starts a process
//!    for each test.
//! 2. A container (feature `containers`), where an engine such as Docker answers. The image is
//!    `postgres:15-bookworm`, or the one that `TEST_DATABASE_IMAGE` names.
//! 3. A private cluster from the machine's own PostgreSQL programs.
//!
//! A server that was started here ends with its last database or with the process, whichever is first.
//!
//! The crate knows no schema: migrating is a closure that the caller passes.

mod backend;
mod cluster;
#[cfg(feature = "containers")]
mod container;
mod database;
mod error;
mod own_thread;
mod programs;
mod server;
mod server_url;
mod unique;

pub use backend::{Backend, BackendChoice};
pub use database::TestDatabase;
pub use error::Error;
pub use programs::server_program;
pub use server::Server;
pub use server_url::ServerUrl;
