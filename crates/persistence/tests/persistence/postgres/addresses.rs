//! A server's answer counts, even if another of its addresses fails.

use std::net::TcpListener;

use keyward_persistence::postgres::{ConnectionRefused, MigrateError, PostgresConfig};
use keyward_test_database::TestDatabase;

use crate::postgres::fixture::{long_timeouts, store};

/// Nothing listens there.
const DEAD: &str = "127.0.0.1:1";

/// `database` beside a dead address, which comes first or last.
fn with_dead_address(database: &TestDatabase, url: impl Fn(&str, &str) -> String) -> [String; 2] {
    let (user, server, name) = parts(database);
    [format!("{DEAD},{server}"), format!("{server},{DEAD}")]
        .map(|servers| url(user, &format!("{servers}/{name}")))
}

/// User and password, host and port, and name.
fn parts(database: &TestDatabase) -> (&str, &str, &str) {
    let url = database.url().trim_start_matches("postgres://");
    let (user, server_and_name) = url.rsplit_once('@').expect("a user");
    let (server, name) = server_and_name.split_once('/').expect("a name");
    (user, server, name)
}

async fn refusal(config: PostgresConfig) -> ConnectionRefused {
    match store(config).migrate().await {
        Err(MigrateError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn refused_user_is_reported_despite_other_address_errors() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |_, rest| {
        format!("postgres://keyward_nobody:s3cret@{rest}")
    }) {
        let refused = refusal(long_timeouts(&url)).await;
        assert!(matches!(refused, ConnectionRefused::User(_)), "{url}: {refused}");
    }
}

#[tokio::test]
async fn wrong_password_is_reported_despite_an_unreachable_address() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |user, rest| {
        let (name, _) = user.split_once(':').unwrap_or((user, ""));
        format!("postgres://{name}:wrong@{rest}")
    }) {
        let refused = refusal(long_timeouts(&url)).await;
        assert!(matches!(refused, ConnectionRefused::User(_)), "{url}: {refused}");
    }
}

#[tokio::test]
async fn refusal_is_final_only_when_every_host_refuses() {
    let database = TestDatabase::empty().await.expect("a database");
    let gone = |user: &str, rest: &str| format!("postgres://{user}@{rest}_gone");
    for url in with_dead_address(&database, gone) {
        let refusal = store(long_timeouts(&url)).refusal().await;
        assert_eq!(refusal, None, "{url}");
    }
    let (user, server, name) = parts(&database);
    for rest in [format!("{server}/{name}"), format!("{server},{server}/{name}")] {
        let url = gone(user, &rest);
        let refusal = store(long_timeouts(&url)).refusal().await;
        assert!(
            matches!(refusal, Some(ConnectionRefused::NoSuchDatabase(_))),
            "{url}: {refusal:?}"
        );
    }
    assert_eq!(store(long_timeouts(database.url())).refusal().await, None);
}

#[tokio::test]
async fn missing_database_is_reported_despite_other_address_errors() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |user, rest| format!("postgres://{user}@{rest}_gone")) {
        let refused = refusal(long_timeouts(&url)).await;
        assert!(
            matches!(refused, ConnectionRefused::NoSuchDatabase(_)),
            "{url}: {refused}"
        );
    }
}

#[tokio::test]
async fn refused_tls_is_reported_despite_other_address_errors() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |user, rest| {
        format!("postgres://{user}@{rest}?sslmode=verify-full")
    }) {
        let refused = refusal(long_timeouts(&url)).await;
        assert!(matches!(refused, ConnectionRefused::Tls(_)), "{url}: {refused}");
    }
}

#[tokio::test]
async fn accepting_address_is_used_despite_other_address_errors() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |user, rest| format!("postgres://{user}@{rest}")) {
        store(long_timeouts(&url)).migrate().await.expect("a connection");
    }
}

#[tokio::test]
async fn host_that_accepts_and_stays_silent_is_passed_by() {
    let database = TestDatabase::empty().await.expect("a database");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = listener.local_addr().expect("an address");
    let (user, server, name) = parts(&database);
    let url = format!("postgres://{user}@{silent},{silent},{server}/{name}");
    let migrated = store(long_timeouts(&url)).migrate().await;
    migrated.expect("the last host answers");
    drop(listener);
}
