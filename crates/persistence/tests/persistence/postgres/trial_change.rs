//! Results of a trial change.

use keyward_domain::ports::Credentials;
use keyward_persistence::TrialFailure;

use crate::postgres::fixture::{Fixture, long_timeouts, store};

#[tokio::test]
async fn trial_change_adds_no_row() {
    let fixture = Fixture::new().await;
    let rows = "SELECT (SELECT count(*) FROM installation) + (SELECT count(*) FROM audit_events)";
    let before: i64 = fixture.client.query_one(rows, &[]).await.expect("a count").get(0);
    fixture.store.try_change().await.expect("changes work");
    let after: i64 = fixture.client.query_one(rows, &[]).await.expect("a count").get(0);
    assert_eq!(after, before);
}

#[tokio::test]
async fn trial_change_writes_a_one_mebibyte_temporary_file_beside_tables() {
    let fixture = Fixture::new().await;
    let name = fixture.database.name();
    // A session's statistics are available once it has ended.
    let asked_for = async |limit: &str| -> i64 {
        fixture
            .execute(&format!("ALTER DATABASE {name} SET temp_file_limit = '{limit}'"))
            .await;
        let before = temporary_bytes(&fixture).await;
        let store = store(long_timeouts(fixture.database.url()));
        store.try_change().await.expect("changes work");
        temporary_bytes(&fixture).await - before
    };
    let asked = asked_for("-1").await;
    assert!(asked >= 1024 * 1024, "{asked} bytes");
    // A lower limit of temporary files does not prevent changes.
    assert_eq!(asked_for("0").await, 0);
}

/// The bytes that all sessions of Keyward wrote to temporary files here.
async fn temporary_bytes(fixture: &Fixture) -> i64 {
    let client = &fixture.client;
    let end = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name = 'keyward'";
    client.execute(end, &[]).await.expect("their end");
    let bytes = "SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()";
    client.query_one(bytes, &[]).await.expect("a count").get(0)
}

#[tokio::test]
async fn read_only_database_refuses_a_trial_change() {
    let fixture = Fixture::new().await;
    let name = fixture.database.name();
    fixture
        .execute(&format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = on"
        ))
        .await;
    let read_only = store(long_timeouts(fixture.database.url()));
    let refused = read_only.try_change().await;
    assert!(matches!(refused, Err(TrialFailure::Refused(_))), "{refused:?}");
    let found = Credentials::find(&read_only, &fixture.key.digest).await;
    assert!(found.expect("reads go on").is_some());
}

#[tokio::test]
async fn role_without_write_privileges_fails_the_trial_change() {
    let fixture = Fixture::new().await;
    let role = format!("{}_serve", fixture.database.name());
    let (_, server_and_name) = fixture.database.url().rsplit_once('@').expect("a password");
    fixture
        .execute(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 's3cret';
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
             REVOKE UPDATE, DELETE ON audit_events FROM {role}"
        ))
        .await;
    let of_role = store(long_timeouts(&format!(
        "postgres://{role}:s3cret@{server_and_name}"
    )));
    of_role
        .try_change()
        .await
        .expect("the rights of the guide suffice");
    for right in [
        "INSERT ON api_keys",
        "UPDATE ON api_keys",
        "INSERT ON api_key_search",
        "UPDATE ON api_key_search",
        "DELETE ON api_key_search",
        "INSERT ON audit_events",
        "UPDATE ON installation",
        "UPDATE ON access_counter",
        "INSERT ON access_changes",
        "DELETE ON access_changes",
        "INSERT ON replicas",
        "UPDATE ON replicas",
        "DELETE ON replicas",
        "UPDATE ON memberships",
        "UPDATE ON users",
        "INSERT ON sessions",
        "UPDATE ON sessions",
        "DELETE ON sessions",
        "INSERT ON sign_in_throttle",
        "UPDATE ON sign_in_throttle",
    ] {
        fixture.execute(&format!("REVOKE {right} FROM {role}")).await;
        let refused = of_role.try_change().await;
        assert!(
            matches!(refused, Err(TrialFailure::Refused(_))),
            "{right}: {refused:?}"
        );
        fixture.execute(&format!("GRANT {right} TO {role}")).await;
        of_role.try_change().await.expect(right);
    }
    drop(of_role);
    fixture
        .execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
}

#[tokio::test]
async fn trial_change_waiting_too_long_is_slow() {
    let fixture = Fixture::with(|config| config.step_timeout = std::time::Duration::from_millis(300)).await;
    for table in [
        "installation",
        "api_keys",
        "api_key_search",
        "audit_events",
        "memberships",
        "users",
        "sessions",
        "sign_in_throttle",
    ] {
        fixture
            .execute(&format!("BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE"))
            .await;
        let slow = fixture.store.try_change().await;
        assert!(matches!(slow, Err(TrialFailure::Slow(_))), "{table}: {slow:?}");
        fixture.execute("ROLLBACK").await;
        fixture.store.try_change().await.expect("changes work");
    }
}
