//! People: passwords, console sessions, first-run setup and accounts. No key rule depends on anything here.

mod account;
pub mod accounts;
mod browser_memory;
mod events;
pub mod joining;
mod newcomer;
pub mod own_account;
pub mod password;
pub mod ports;
pub mod refusals;
pub mod remembered_browser;
pub mod seen_sessions;
pub mod session;
pub mod setup;
mod setup_link;
pub mod signing_in;
pub mod throttle;
mod user_agent;

pub use accounts::Accounts;
pub use joining::Joining;
pub use own_account::OwnAccount;
pub use setup::Setup;
pub use signing_in::SignIn;
pub use user_agent::UserAgent;
