//! The pages of the console about a large organization, including searches without results.

use crate::rows::{Database, Figure, Person, Single};
use crate::table::single;

/// A row for each database: `page-NAME-postgres` and `page-NAME-sqlite`.
macro_rules! pages {
    ($($person:ident $name:literal $path:literal,)*) => {
        &[$(
            page(
                concat!("page-", $name, "-postgres"),
                Database::PostgresWithLargeOrganization,
                Person::$person,
                $path,
            ),
            page(
                concat!("page-", $name, "-sqlite"),
                Database::SqliteWithLargeOrganization,
                Person::$person,
                $path,
            ),
        )*]
    };
}

/// Each below the settings of the organization. The word “legacy”, and so the letters “eg”, is only in the older half of
/// the keys.
pub(crate) const PAGES: &[Single] = pages! {
    Owner "general" "general",
    Owner "members" "members",
    Owner "members-absent-word" "members?search=wombat",
    Owner "invitations" "members/invitations",
    Owner "member" "members/{holder}",
    Owner "remove-member" "members/{holder}/remove",
    Owner "projects" "projects",
    Owner "projects-search" "projects?search=1999",
    Owner "project" "projects/{project}",
    Owner "all-keys" "api-keys/all",
    Owner "all-keys-far-back" "api-keys/all?after={middle}",
    Owner "all-keys-unused-90" "api-keys/all?unused=90",
    Owner "all-keys-unused-365" "api-keys/all?unused=365",
    Owner "all-keys-unused-old-word" "api-keys/all?unused=365&search=legacy",
    Owner "all-keys-absent-word" "api-keys/all?search=wombat",
    Owner "all-keys-old-word" "api-keys/all?search=legacy",
    Owner "all-keys-old-word-revoked" "api-keys/all?search=legacy&status=revoked",
    Owner "all-keys-old-letters" "api-keys/all?search=eg",
    Owner "keys-of-member" "api-keys/all?holder={holder}",
    Owner "keys-of-member-unused" "api-keys/all?holder={holder}&unused=365",
    Owner "key" "api-keys/all/{key}",
    Owner "revoke-keys-of-member" "api-keys/all/revoke?holder={holder}",
    Owner "revoke-keys-before" "api-keys/all/revoke?before={yesterday}",
    Owner "audit-log" "audit-log",
    Owner "audit-log-action" "audit-log?action=session.sign_out",
    Owner "audit-log-absent-action" "audit-log?action=organization.rename",
    Owner "audit-log-who" "audit-log?who=alan1",
    Owner "audit-log-who-old-word" "audit-log?who=legacy",
    // The name of one key; the end of the names of every fourth.
    Owner "audit-log-who-key" "audit-log?who=deploy+storage+production+1000",
    Owner "audit-log-who-ending" "audit-log?who=production",
    Owner "audit-log-what-absent-word" "audit-log?what=wombat",
    Owner "audit-log-what-old-word" "audit-log?what=legacy",
    Owner "audit-log-several" "audit-log?who=alan1&action=session.sign_in",
    HolderOfMany "own-keys" "api-keys",
    HolderOfMany "own-keys-old-word" "api-keys?search=legacy",
    HolderOfMany "own-keys-absent-word" "api-keys?search=wombat",
};

const fn page(name: &'static str, database: Database, person: Person, path: &'static str) -> Single {
    single(name, Figure::Page(database, person, path), "ms", Some(150.0))
}
