//! When keys were last used and sessions last seen, as the server writes it down.

use std::time::Instant;

use keyward_test_database::TestDatabase;
use rustix::process::Signal;
use tokio_postgres::NoTls;

use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::server::{Server, TIMEOUT};
use crate::setup::{PASSWORD, bootstrap};

#[tokio::test]
async fn last_use_before_sigterm_is_stored() {
    let database = TestDatabase::empty().await.unwrap();
    bootstrap(database.url()).success();
    let mut server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = create_key(&server, cookie(&signed_in), "laptop");
    let token = token_in(&page.body);
    let authorization = format!("Authorization: Bearer {token}");
    let answer = server.ask("GET", "/api/v1/user", &[&authorization], "");
    assert_eq!(answer.status, 200, "{answer:?}");
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");

    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let row = client
        .query_one(
            "SELECT last_used_from FROM api_keys WHERE last_used_at IS NOT NULL",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(row.get::<_, Option<&str>>(0), Some("127.0.0.1"));
}

#[tokio::test]
async fn session_seen_just_before_sigterm_is_written() {
    let database = TestDatabase::empty().await.unwrap();
    bootstrap(database.url()).success();
    let mut server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let an_hour_ago = "UPDATE sessions SET started_at = started_at - interval '1 hour', \
                       last_seen_at = last_seen_at - interval '1 hour'";
    client.execute(an_hour_ago, &[]).await.unwrap();
    let page = server.ask(
        "GET",
        "/account",
        &[&format!("Cookie: {}", cookie(&signed_in))],
        "",
    );
    assert_eq!(page.status, 200, "{page:?}");
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    let seen = "SELECT FROM sessions WHERE last_seen_at >= started_at + interval '1 hour'";
    assert!(client.query_opt(seen, &[]).await.unwrap().is_some(), "{log}");
}

#[tokio::test]
async fn last_uses_lost_at_shutdown_are_counted_in_the_log() {
    let database = TestDatabase::empty().await.unwrap();
    bootstrap(database.url()).success();
    let mut server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = create_key(&server, cookie(&signed_in), "laptop");
    let authorization = format!("Authorization: Bearer {}", token_in(&page.body));
    let use_key = || {
        let answer = server.ask("GET", "/api/v1/user", &[&authorization], "");
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    use_key();
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let written = "SELECT FROM api_keys WHERE last_used_at IS NOT NULL";
    let deadline = Instant::now() + TIMEOUT;
    while client.query_opt(written, &[]).await.unwrap().is_none() {
        assert!(Instant::now() < deadline, "it is not written");
    }
    // Its next use waits for a minute.
    use_key();
    database.refuse_connections().await.unwrap();
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    let lost: Vec<&str> = log.lines().filter(|line| line.contains("\"lost\"")).collect();
    assert_eq!(lost.len(), 1, "{log}");
    let said = "records lost at shutdown";
    assert!(
        lost[0].contains(said) && lost[0].contains("\"lost\":1"),
        "{lost:?}"
    );
}
