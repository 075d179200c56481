//! A server whose database file is damaged: it answers from the readable parts, and says what to do.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::{QueryableByName, RunQueryDsl as _, SqliteConnection};
use diesel::sql_types::BigInt;
use rustix::process::Signal;

use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::data_directory::DataDirectory;
use crate::readiness::until_detail;
use crate::server::Server;
use crate::setup::PASSWORD;

#[derive(QueryableByName)]
struct Place {
    #[diesel(sql_type = BigInt)]
    offset: i64,
}

const DETAIL: &str =
    "The database file is damaged: restore a backup. Keys that can still be read are verified.";

/// Overwrites the first page of a table, or of the file, where SQLite's header is.
fn damage(file: &Path, table: &str) {
    let mut database = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let query = format!(
        "SELECT (rootpage - 1) * page_size AS offset FROM pragma_page_size, \
         (SELECT name, rootpage FROM sqlite_schema UNION ALL SELECT 'sqlite_schema', 1) WHERE name = '{table}'"
    );
    let page: Place = diesel::sql_query(query).get_result(&mut database).unwrap();
    // A commit of another process, so that the server reads its pages again.
    database
        .batch_execute(
            "PRAGMA busy_timeout = 30000; PRAGMA user_version = 7; PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
    let file = File::options().write(true).open(file).unwrap();
    file.write_all_at(&[b'x'; 4096], page.offset.try_into().unwrap())
        .unwrap();
}

#[test]
fn damage_met_by_a_statement_makes_the_server_unready() {
    let directory = DataDirectory::new("damaged");
    directory.bootstrap().success();
    let mut server = Server::start_in(directory.path());
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = create_key(&server, cookie(&signed_in), "deploy");
    let bearer = format!("Authorization: Bearer {}", token_in(&page.body));
    let file = directory.path().join("keyward.db");
    damage(&file, "audit_events");

    let revoked = server.ask("DELETE", "/api/v1/user/api-keys/current", &[&bearer], "");
    assert_eq!(revoked.status, 500, "{}", revoked.body);
    until_detail(&server, DETAIL);
    let verified = server.ask("GET", "/api/v1/user", &[&bearer], "");
    assert_eq!(verified.status, 200, "{}", verified.body);
    let event = server.event("database file is damaged");
    let cause = event["cause"].as_str().unwrap();
    assert!(
        cause.contains(&format!("{} is damaged: move it, ", file.display())),
        "{event}"
    );
    assert!(event["hint"].as_str().unwrap().contains("Back up"), "{event}");
    server.signal(Signal::TERM);
    let (_, log) = server.ended();
    assert_eq!(log.matches("database file is damaged").count(), 1, "{log}");
}

#[test]
fn file_that_lost_its_header_makes_the_server_unready() {
    let directory = DataDirectory::new("no-header");
    directory.bootstrap().success();
    let mut server = Server::start_in(directory.path());
    damage(&directory.path().join("keyward.db"), "sqlite_schema");
    until_detail(&server, DETAIL);
    let event = server.event("database file is damaged");
    assert!(
        event["cause"].as_str().unwrap().contains("is damaged: move it, "),
        "{event}"
    );
}
