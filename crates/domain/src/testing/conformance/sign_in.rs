//! What the ports of users and sign-in promise.

pub(super) mod account_cases;
pub(super) mod installation_cases;
pub(super) mod organization_cases;
pub(super) mod password_change_cases;
mod scene;
pub(super) mod session_cases;
pub(super) mod session_end_cases;
pub(super) mod session_start_cases;
mod sessions;
pub(super) mod throttle_cases;
