//! The commands that need a database.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use keyward_test_database::TestDatabase;

use crate::keyward::Keyward;

/// The URL of a server that does not exist: port 1 is reserved (tcpmux), so nothing listens there.
pub(crate) const UNREACHABLE: &str = "postgres://keyward:s3cret@127.0.0.1:1/keyward";

/// All commands that need a database, with sufficient arguments. A test compares the
/// list with `keyward help`.
pub(crate) const NEEDING_A_DATABASE: [&[&str]; 15] = [
    &["serve", "--listen=127.0.0.1:0"],
    &["migrate"],
    &["export"],
    &["import"],
    &["clean-up"],
    &["replicas"],
    &["admin", "setup-link"],
    &[
        "admin",
        "bootstrap",
        "--organization=Acme",
        "--username=ada",
        "--generate-password",
    ],
    &["admin", "create-user", "--username=ada", "--generate-password"],
    &["admin", "create-organization", "--name=Acme", "--owner=ada"],
    &["admin", "remove-member", "--organization=acme", "--username=ada"],
    &[
        "admin",
        "revoke",
        "--organization=acme",
        "--username=ada",
        "--reason=leak",
    ],
    &["admin", "reset-password", "--username=ada", "--generate-password"],
    &["admin", "audit-log"],
    &["admin", "repeat-revocations"],
];

/// Whether a command acts on existing data, and therefore never creates a database.
pub(crate) fn acts_on_what_is_there(command: &[&str]) -> bool {
    matches!(
        command,
        ["export" | "clean-up" | "replicas"]
            | [
                "admin",
                "create-user"
                    | "create-organization"
                    | "remove-member"
                    | "revoke"
                    | "reset-password"
                    | "audit-log"
                    | "repeat-revocations",
                ..,
            ]
    )
}

/// The names of all relations in the schema `public`, with the number of rows of each table, sorted.
pub(crate) async fn contents(database: &TestDatabase) -> Vec<String> {
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let rows = client
        .query(
            "SELECT relname || ' ' || CASE WHEN relkind = 'r' THEN
                 (xpath('//c/text()', query_to_xml(format('SELECT count(*) AS c FROM %I', relname), true, true, '')))[1]::text
                 ELSE '' END
             FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
            &[],
        )
        .await
        .unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// The name, length and content hash of each file in a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            file(&name, &std::fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// A file with this name and content, in the format of [`files`].
pub(crate) fn file(name: &str, bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{name} of {} bytes, {:x}", bytes.len(), hasher.finish())
}

/// `keyward` with these arguments and this data directory.
pub(crate) fn on_data_directory(command: &[&str], directory: &Path) -> Keyward {
    Keyward::new(command).data_directory(directory)
}
