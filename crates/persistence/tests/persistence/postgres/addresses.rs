//! What a server says counts, whatever another address of it says.

use keyward_persistence::postgres::{ConnectionRefused, MigrateError, PostgresConfig};
use keyward_test_database::TestDatabase;

use crate::postgres::fixture::{patient, store};

/// Nobody listens there.
const DEAD: &str = "127.0.0.1:1";

/// `database` beside a dead address, which comes first or last.
fn with_dead_address(database: &TestDatabase, change: impl Fn(&str, &str) -> String) -> [String; 2] {
    let url = database.url();
    let (user, server_and_name) = url.rsplit_once('@').expect("a user");
    let (server, name) = server_and_name.split_once('/').expect("a name");
    let user = user.trim_start_matches("postgres://");
    [format!("{DEAD},{server}"), format!("{server},{DEAD}")]
        .map(|servers| change(user, &format!("{servers}/{name}")))
}

async fn refusal(config: PostgresConfig) -> ConnectionRefused {
    match store(config).migrate().await {
        Err(MigrateError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refused_user_is_told_whatever_another_address_says() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |_, rest| {
        format!("postgres://keyward_nobody:s3cret@{rest}")
    }) {
        let refused = refusal(patient(&url)).await;
        assert!(matches!(refused, ConnectionRefused::User(_)), "{url}: {refused}");
    }
}

#[tokio::test]
async fn a_missing_database_is_told_whatever_another_address_says() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |user, rest| format!("postgres://{user}@{rest}_gone")) {
        let refused = refusal(patient(&url)).await;
        assert!(
            matches!(refused, ConnectionRefused::NoSuchDatabase(_)),
            "{url}: {refused}"
        );
    }
}

#[tokio::test]
async fn a_wish_for_tls_that_is_refused_is_told_whatever_another_address_says() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |user, rest| {
        format!("postgres://{user}@{rest}?sslmode=verify-full")
    }) {
        let refused = refusal(patient(&url)).await;
        assert!(matches!(refused, ConnectionRefused::Tls(_)), "{url}: {refused}");
    }
}

#[tokio::test]
async fn an_address_that_lets_in_is_used_whatever_another_one_says() {
    let database = TestDatabase::empty().await.expect("a database");
    for url in with_dead_address(&database, |user, rest| format!("postgres://{user}@{rest}")) {
        store(patient(&url)).migrate().await.expect("a connection");
    }
}
