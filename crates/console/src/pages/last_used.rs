//! The last use of a key as pages show it.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use keyward_domain::api_key::LastUse;

/// When a key was last used, and from where if that is known.
#[derive(Clone)]
pub(super) struct LastUsed {
    pub(super) at: DateTime<Utc>,
    pub(super) from: Option<String>,
}

impl<Address: Display> From<LastUse<Address>> for LastUsed {
    fn from(last: LastUse<Address>) -> Self {
        Self {
            at: last.at,
            from: last.from.map(|address| address.to_string()),
        }
    }
}
