//! The answers of `/readyz` while the database answers but accepts no changes: the table in `docs/health.md`.

use std::time::{Duration, Instant};

use keyward_test_database::TestDatabase;
use rustix::process::Signal;
use tokio_postgres::NoTls;

use crate::server::{HttpAnswer, Server, TIMEOUT};

/// Well-formed, and of no key.
pub(crate) const UNKNOWN: &str = "Authorization: Bearer kwp_000000000000000000000000000000002wjyrI";

pub(crate) fn until(server: &Server, status: u16) -> HttpAnswer {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let answer = server.get("/readyz");
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
    }
}

/// It may be unready for another reason first: connections that were cut say so once.
pub(crate) fn until_detail(server: &Server, detail: &str) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let answer = until(server, 503);
        if answer.json()["detail"] == detail {
            return;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
    }
}

async fn execute(database: &TestDatabase, statement: &str) {
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(statement).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn server_with_read_only_database_is_unready() {
    let database = TestDatabase::empty().await.unwrap();
    let mut server = Server::start(database.url(), &[]);
    assert_eq!(server.get("/readyz").status, 200);

    let of_database = format!("ALTER DATABASE {}", database.name());
    let read_only = "SET default_transaction_read_only";
    execute(&database, &format!("{of_database} {read_only} = on")).await;
    // A session keeps the settings of its start.
    database.terminate_connections().await.unwrap();
    until_detail(
        &server,
        "The database accepts no changes. Keys are verified as before.",
    );
    server.event("changes fail");
    // The token is looked up and not found: reads still work.
    let verified = server.ask("GET", "/api/v1/user", &[UNKNOWN], "");
    assert_eq!(verified.status, 401, "{}", verified.body);

    let writable = format!("BEGIN READ WRITE; {of_database} RESET default_transaction_read_only; COMMIT");
    execute(&database, &writable).await;
    database.terminate_connections().await.unwrap();
    until(&server, 200);
    server.event("changes work again");
}

#[tokio::test(flavor = "multi_thread")]
async fn outage_of_changes_is_one_log_line_until_recovery() {
    let database = TestDatabase::empty().await.unwrap();
    let mut server = Server::start(database.url(), &[]);
    let of_database = format!("ALTER DATABASE {}", database.name());
    let read_only = "SET default_transaction_read_only";
    execute(&database, &format!("{of_database} {read_only} = on")).await;
    database.terminate_connections().await.unwrap();
    until_detail(
        &server,
        "The database accepts no changes. Keys are verified as before.",
    );
    let form = [
        "Sec-Fetch-Site: same-origin",
        "Content-Type: application/x-www-form-urlencoded",
    ];
    let mut failed_requests = 0;
    // Much longer than what reads takes to be asked again.
    let deadline = Instant::now() + Duration::from_secs(3);
    while Instant::now() < deadline {
        let answer = server.ask("POST", "/sign-in", &form, "username=ada&password=x");
        assert_eq!(answer.status, 503, "{}", answer.body);
        failed_requests += 1;
    }

    let writable = format!("BEGIN READ WRITE; {of_database} RESET default_transaction_read_only; COMMIT");
    execute(&database, &writable).await;
    database.terminate_connections().await.unwrap();
    let end = server.event("storage available again");
    assert_eq!(end["failed_requests"], failed_requests, "{end}");
    server.signal(Signal::TERM);
    let (_, log) = server.ended();
    assert_eq!(log.matches("storage unavailable").count(), 1, "{log}");
}

#[tokio::test]
async fn database_without_the_last_migration_makes_the_server_unready() {
    let database = TestDatabase::empty().await.unwrap();
    let server = Server::start(database.url(), &["--public-url=https://keys.example.org"]);
    assert_eq!(server.get("/readyz").status, 200);
    let list = "__diesel_schema_migrations";
    let newest = format!("(SELECT max(version) FROM {list})");
    execute(&database, &format!("DELETE FROM {list} WHERE version = {newest}")).await;
    let unready = until(&server, 503).json();
    assert_eq!(
        unready["detail"],
        "The tables of the database do not fit this version."
    );
    assert_eq!(unready["type"], "https://keys.example.org/problems/unavailable");
}

#[tokio::test]
async fn database_with_a_later_migration_leaves_the_server_ready() {
    let database = TestDatabase::empty().await.unwrap();
    let server = Server::start(database.url(), &[]);
    execute(
        &database,
        "INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231235959')",
    )
    .await;
    until(&server, 200);
    // Twice as long as an answer is repeated.
    let deadline = Instant::now() + Duration::from_secs(2);
    while Instant::now() < deadline {
        assert_eq!(server.get("/readyz").status, 200);
    }
}
