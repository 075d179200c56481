//! What the [key ports](super::KeyStores) promise.

pub(super) mod add_key_cases;
pub(super) mod audit_filter_cases;
pub(super) mod audit_log_cases;
pub(super) mod change_rate_cases;
pub(super) mod concurrent_key_cases;
pub(super) mod credential_cases;
pub(super) mod descendant_cases;
pub(super) mod edit_key_cases;
pub(super) mod find_key_cases;
pub(super) mod key_right_cases;
pub(super) mod line_cases;
pub(super) mod list_key_cases;
pub(super) mod membership_cases;
pub(super) mod precondition_cases;
pub(super) mod revoke_key_cases;
pub(super) mod search_key_cases;
