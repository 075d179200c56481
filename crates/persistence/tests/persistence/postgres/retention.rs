//! Removal of expired records: cases for which the domain's suite would have to know the database.

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::retention::ports::{RetentionError, RetentionStore};
use keyward_persistence::postgres::PostgresStore;

use crate::postgres::fixture::{Fixture, connect, count, long_timeouts, store};

const ALL: u32 = 500;

async fn remove_events(fixture: &Fixture, before: DateTime<Utc>) -> Result<u32, RetentionError> {
    remove_events_by(&fixture.store, fixture, before).await
}

async fn remove_events_by(
    store: &PostgresStore,
    fixture: &Fixture,
    before: DateTime<Utc>,
) -> Result<u32, RetentionError> {
    let act = fixture.make.act(Actor::System);
    let event = act.event(Action::RemoveAuditEvents, Subject::Installation);
    store.remove_audit_events(before, ALL, Some(event)).await
}

/// Why the statements are refused, which are undone.
async fn refusal(fixture: &Fixture, statements: &str) -> String {
    let refused = fixture
        .client
        .batch_execute(statements)
        .await
        .expect_err(statements);
    let refusal = refused.as_db_error().expect("a refusal by the database");
    fixture.execute("ROLLBACK").await;
    refusal.message().to_owned()
}

#[tokio::test]
async fn removal_beyond_its_limits_is_refused_by_the_database() {
    let fixture = Fixture::new().await;
    let now = fixture.make.clock.now();
    let (moment, later) = (now.to_rfc3339(), (now + TimeDelta::milliseconds(1)).to_rfc3339());
    let before = count(&fixture.client, "audit_events").await;
    let removal =
        |before: &str| format!("BEGIN; SET LOCAL keyward.audit_events_removable_before = '{before}'");
    for (statement, operation) in [
        ("DELETE FROM audit_events".to_owned(), "DELETE"),
        (
            format!("{}; DELETE FROM audit_events", removal(&moment)),
            "DELETE",
        ),
        (
            format!(
                "{}; SET LOCAL session_replication_role = replica; DELETE FROM audit_events",
                removal(&moment)
            ),
            "DELETE",
        ),
        (
            format!("{}; UPDATE audit_events SET outcome = 'refused'", removal(&later)),
            "UPDATE",
        ),
        (format!("{}; TRUNCATE audit_events", removal(&later)), "TRUNCATE"),
        // The setting ends with the transaction, and leaves an empty one behind.
        (
            format!("{}; COMMIT; DELETE FROM audit_events", removal(&later)),
            "DELETE",
        ),
    ] {
        let expected = format!("audit_events is append-only: {operation} is refused");
        assert_eq!(refusal(&fixture, &statement).await, expected, "{statement}");
    }
    let nonsense = refusal(
        &fixture,
        &format!("{}; DELETE FROM audit_events", removal("some day")),
    )
    .await;
    assert!(nonsense.starts_with("invalid input syntax"), "{nonsense}");
    assert_eq!(count(&fixture.client, "audit_events").await, before);

    let removed = remove_events(&fixture, now + TimeDelta::milliseconds(1)).await;
    assert_eq!(removed.map(i64::from).expect("a removal"), before);
    assert_eq!(count(&fixture.client, "audit_events").await, 1);
    let refused = refusal(&fixture, "DELETE FROM audit_events").await;
    assert_eq!(refused, "audit_events is append-only: DELETE is refused");
}

#[tokio::test]
async fn event_removal_requires_delete_but_not_update_privilege() {
    let fixture = Fixture::new().await;
    let now = fixture.make.clock.now() + TimeDelta::days(1);
    let role = format!("{}_serve", fixture.database.name());
    fixture
        .execute(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 's3cret';
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
             REVOKE UPDATE, DELETE ON audit_events FROM {role}"
        ))
        .await;
    let (_, server_and_name) = fixture.database.url().rsplit_once('@').expect("a password");
    let of_role = store(long_timeouts(&format!(
        "postgres://{role}:s3cret@{server_and_name}"
    )));
    let before = count(&fixture.client, "audit_events").await;

    let refused = remove_events_by(&of_role, &fixture, now).await;
    assert!(matches!(refused, Err(RetentionError::NotAllowed)), "{refused:?}");
    assert_eq!(count(&fixture.client, "audit_events").await, before);
    let keys = of_role.remove_dead_keys(now, ALL).await;
    assert_eq!(keys.expect("the other kinds are not concerned"), 0);
    fixture
        .execute(&format!("GRANT DELETE ON audit_events TO {role}"))
        .await;
    let removed = remove_events_by(&of_role, &fixture, now).await;
    assert_eq!(removed.map(i64::from).expect("a removal"), before);

    drop(of_role);
    fixture
        .execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
}

#[tokio::test]
async fn concurrent_removal_by_another_server_is_skipped() {
    let fixture = Fixture::new().await;
    fixture
        .execute(
            "UPDATE api_keys SET revoked_at = created_at, end_came_at = created_at, revoked_by_kind = 'administrator', revoked_reason = 'leak';
             INSERT INTO sign_in_throttle SELECT sha256(n::text::bytea), '2020-01-01' FROM generate_series(1, 3) n",
        )
        .await;
    let now = fixture.make.clock.now() + TimeDelta::days(1);
    let mut other = connect(fixture.database.url()).await;
    let removal = other.transaction().await.expect("a transaction");
    removal
        .batch_execute(
            "SELECT pg_advisory_xact_lock(x'6b65797320676f'::bigint), pg_advisory_xact_lock(x'6c6f677320676f'::bigint);
             DELETE FROM sign_in_throttle WHERE bucket = sha256('1')",
        )
        .await
        .expect("somebody else's removal");

    let store = &fixture.store;
    assert_eq!(store.remove_dead_keys(now, ALL).await.expect("no obstacle"), 0);
    assert_eq!(remove_events(&fixture, now).await.expect("no obstacle"), 0);
    let buckets = store.remove_empty_throttle_buckets(now, ALL).await;
    assert_eq!(buckets.expect("no obstacle"), 2);
    removal.rollback().await.expect("the end of it");
    assert_eq!(store.remove_dead_keys(now, ALL).await.expect("its turn"), 1);
    assert!(remove_events(&fixture, now).await.expect("its turn") > 0);
    let buckets = store.remove_empty_throttle_buckets(now, ALL).await;
    assert_eq!(buckets.expect("its turn"), 1);
}
