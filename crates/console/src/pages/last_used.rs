//! The last use of a key as pages show it.

use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::HeldKeyUse;
use keyward_domain::api_key::LastUse;

/// When a key was last used, and from where if that is known.
#[derive(Clone)]
pub(super) struct LastUsed {
    pub(super) at: DateTime<Utc>,
    pub(super) from: Option<String>,
}

impl From<LastUse> for LastUsed {
    fn from(last: LastUse) -> Self {
        Self {
            at: last.at,
            from: last.from.map(|address| address.to_string()),
        }
    }
}

impl From<HeldKeyUse> for LastUsed {
    fn from(last: HeldKeyUse) -> Self {
        Self {
            at: last.at,
            from: last.from.map(|network| network.to_string()),
        }
    }
}
