//! The pages of the console about a large organization, including searches without results.

use crate::rows::{Figure, Person, Single};
use crate::table::single;

/// Each below the settings of the organization. The word “legacy”, and so the letters “eg”, is only in the older half of
/// the keys.
pub(crate) const PAGES: &[Single] = &[
    owners("page-general", "general"),
    owners("page-members", "members"),
    owners("page-members-absent-word", "members?search=wombat"),
    owners("page-invitations", "members/invitations"),
    owners("page-member", "members/{holder}"),
    owners("page-remove-member", "members/{holder}/remove"),
    owners("page-projects", "projects"),
    owners("page-projects-search", "projects?search=1999"),
    owners("page-project", "projects/{project}"),
    owners("page-all-keys", "api-keys/all"),
    owners("page-all-keys-far-back", "api-keys/all?after={middle}"),
    owners("page-all-keys-unused-90", "api-keys/all?unused=90"),
    owners("page-all-keys-unused-365", "api-keys/all?unused=365"),
    owners(
        "page-all-keys-unused-old-word",
        "api-keys/all?unused=365&search=legacy",
    ),
    owners("page-all-keys-absent-word", "api-keys/all?search=wombat"),
    owners("page-all-keys-old-word", "api-keys/all?search=legacy"),
    owners(
        "page-all-keys-old-word-revoked",
        "api-keys/all?search=legacy&status=revoked",
    ),
    owners("page-all-keys-old-letters", "api-keys/all?search=eg"),
    owners("page-keys-of-member", "api-keys/all?holder={holder}"),
    owners(
        "page-keys-of-member-unused",
        "api-keys/all?holder={holder}&unused=365",
    ),
    owners("page-key", "api-keys/all/{key}"),
    owners(
        "page-revoke-keys-of-member",
        "api-keys/all/revoke?holder={holder}",
    ),
    owners(
        "page-revoke-keys-before",
        "api-keys/all/revoke?before={yesterday}",
    ),
    owners("page-audit-log", "audit-log"),
    owners("page-audit-log-action", "audit-log?action=session.sign_out"),
    owners(
        "page-audit-log-absent-action",
        "audit-log?action=organization.rename",
    ),
    owners("page-audit-log-who", "audit-log?who=alan1"),
    owners("page-audit-log-who-old-word", "audit-log?who=legacy"),
    // The name of one key; the end of the names of every fourth.
    owners(
        "page-audit-log-who-key",
        "audit-log?who=deploy+storage+production+1000",
    ),
    owners("page-audit-log-who-ending", "audit-log?who=production"),
    owners("page-audit-log-what-absent-word", "audit-log?what=wombat"),
    owners("page-audit-log-what-old-word", "audit-log?what=legacy"),
    owners(
        "page-audit-log-several",
        "audit-log?who=alan1&action=session.sign_in",
    ),
    holders("page-own-keys", "api-keys"),
    holders("page-own-keys-old-word", "api-keys?search=legacy"),
    holders("page-own-keys-absent-word", "api-keys?search=wombat"),
];

const fn owners(name: &'static str, path: &'static str) -> Single {
    single(name, Figure::Page(Person::Owner, path), "ms", Some(150.0))
}

const fn holders(name: &'static str, path: &'static str) -> Single {
    single(name, Figure::Page(Person::HolderOfMany, path), "ms", Some(150.0))
}
