//! The tabs of owners' lists of keys: whether requests with a key are accepted, and if not, why.

use keyward_domain::administration::ports::HolderStatusFilter;
use keyward_domain::id::MembershipId;
use keyward_domain::organization::Slug;
use keyward_domain::ports::StatusFilter;

use crate::pages::list::{Items, ListedStatus};
use crate::paths;

/// Which keys a list shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OrganizationKeyTab {
    /// Keys that give access.
    #[default]
    Valid,
    /// Keys that are not revoked, but refused because their holders have left.
    WithoutAccess,
    Revoked,
    All,
}

impl OrganizationKeyTab {
    /// The page title.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Valid => "All keys",
            Self::WithoutAccess => "All keys of former members",
            Self::Revoked => "All revoked keys",
            Self::All => "All valid and revoked keys",
        }
    }

    /// The words for the table's caption.
    pub(super) const fn noun(self) -> Items {
        let (one, several) = match self {
            Self::Valid => ("valid key", "valid keys"),
            Self::WithoutAccess => ("key of former members", "keys of former members"),
            Self::Revoked => ("revoked key", "revoked keys"),
            Self::All => ("key", "keys"),
        };
        Items {
            one,
            several,
            later: "older",
        }
    }

    /// The tab as filters of the domain.
    pub(super) const fn filters(self) -> (StatusFilter, HolderStatusFilter) {
        match self {
            Self::Valid => (StatusFilter::Valid, HolderStatusFilter::Members),
            Self::WithoutAccess => (StatusFilter::Valid, HolderStatusFilter::FormerMembers),
            Self::Revoked => (StatusFilter::Revoked, HolderStatusFilter::All),
            Self::All => (StatusFilter::All, HolderStatusFilter::All),
        }
    }
}

impl ListedStatus for OrganizationKeyTab {
    const TABS: &'static [(Self, &'static str)] = &[
        (Self::Valid, "Valid"),
        (Self::WithoutAccess, "Former members"),
        (Self::Revoked, "Revoked"),
        (Self::All, "All"),
    ];

    fn query_value(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::WithoutAccess => "no-access",
            Self::Revoked => "revoked",
            Self::All => "all",
        }
    }
}

/// The URL of one person's keys in a tab.
pub(super) fn keys_of(organization: &Slug, consumer: MembershipId, tab: OrganizationKeyTab) -> String {
    let status = (tab != OrganizationKeyTab::default()).then(|| tab.query_value());
    let fields = [("status", status), ("holder", Some(&*consumer.to_string()))];
    paths::with_query(paths::OrganizationKeys(organization), fields)
}
