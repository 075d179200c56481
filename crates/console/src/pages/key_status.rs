//! The states of keys, as lists of them offer and name them.

use keyward_domain::ports::StatusFilter;

use crate::pages::list::{Items, ListedStatus};

impl ListedStatus for StatusFilter {
    const TABS: &'static [(Self, &'static str)] = &[
        (Self::Valid, "Valid"),
        (Self::Revoked, "Revoked"),
        (Self::All, "All"),
    ];

    fn query_value(self) -> &'static str {
        self.as_str()
    }
}

/// The page title.
pub(super) const fn title(status: StatusFilter) -> &'static str {
    match status {
        StatusFilter::Valid => "API Keys",
        StatusFilter::Revoked => "Revoked API keys",
        StatusFilter::All => "Valid and revoked API keys",
    }
}

/// The words for the table's caption.
pub(super) const fn noun(status: StatusFilter) -> Items {
    let (one, several) = match status {
        StatusFilter::Valid => ("valid key", "valid keys"),
        StatusFilter::Revoked => ("revoked key", "revoked keys"),
        StatusFilter::All => ("key", "keys"),
    };
    Items {
        one,
        several,
        later: "older",
    }
}
