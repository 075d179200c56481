//! A database that is unreachable, silent, busy or read-only is reported in time, and used again when it is
//! back.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::ports::{AddKeyError, ApiKeys, AuditLog, Credentials, DescendantKeys, StorageError};
use keyward_domain::sign_in::ports::{AttemptKind, Throttle};
use keyward_domain::sign_in::throttle::{CountedAccount, ThrottleBucket};
use keyward_domain::testing::Builder;
use keyward_domain::token::TokenDigest;
use keyward_persistence::Obstacle;
use keyward_persistence::postgres::{MigrateError, PostgresConfig, PostgresStore};

use crate::postgres::fixture::{AddKey, Fixture, connect, count, long_timeouts, read, store};
use crate::postgres::proxy::Proxy;

/// The deadline that the API promises.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// The time to recovery that the API promises.
const RECOVER_WITHIN: Duration = Duration::from_secs(5);
/// The delay that is allowed on a busy machine.
const GRACE: Duration = Duration::from_secs(3);

fn as_in_production(config: &mut PostgresConfig) {
    let defaults = PostgresConfig::from_url("postgres://me@host/db").expect("a URL");
    config.step_timeout = defaults.step_timeout;
    config.answer_timeout = defaults.answer_timeout;
    config.outcome_timeout = defaults.outcome_timeout;
}

async fn look_up(store: &PostgresStore) -> Result<(), StorageError> {
    let nothing = Credentials::find(store, &TokenDigest::from_bytes([7; 32])).await?;
    assert_eq!(nothing, None);
    Ok(())
}

async fn change(store: &PostgresStore) -> Result<(), StorageError> {
    let act = Builder::new(u64::from(std::process::id())).act(Actor::Anonymous);
    let event = act.refusal(Action::SignIn, Subject::Installation);
    store.record(event).await
}

#[track_caller]
fn assert_unavailable_in_time(outcome: Result<(), StorageError>, begun: Instant) {
    assert!(
        matches!(outcome, Err(StorageError::Unavailable(_))),
        "{outcome:?}"
    );
    let elapsed = begun.elapsed();
    assert!(elapsed < ANSWER_WITHIN + GRACE, "{elapsed:?}");
}

async fn assert_unavailable(store: &PostgresStore) {
    let begun = Instant::now();
    assert_unavailable_in_time(read(store).await, begun);
    let begun = Instant::now();
    assert_unavailable_in_time(look_up(store).await, begun);
    let begun = Instant::now();
    assert_unavailable_in_time(change(store).await, begun);
}

#[test]
fn default_timeouts_answer_before_the_documented_deadline() {
    let config = PostgresConfig::from_url("postgres://me@host/db").expect("a URL");
    assert!(config.answer_timeout < ANSWER_WITHIN);
    assert!(config.step_timeout < config.answer_timeout);
    assert!(config.outcome_timeout < Duration::from_secs(10));
}

#[tokio::test]
async fn unavailable_database_is_reported_until_it_returns() {
    let fixture = Fixture::with(as_in_production).await;
    fixture
        .database
        .refuse_connections()
        .await
        .expect("a database that is away");
    assert_unavailable(&fixture.store).await;
    fixture
        .database
        .accept_connections()
        .await
        .expect("a database that is back");
    read(&fixture.store).await.expect("found again");
    change(&fixture.store).await.expect("found again");
}

#[tokio::test]
async fn server_without_listener_is_unavailable() {
    let config = PostgresConfig::from_url("postgres://me:s3cret@127.0.0.1:1/db").expect("a URL");
    assert_unavailable(&store(config)).await;
}

#[tokio::test]
async fn silent_server_is_unavailable_within_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("an address").port();
    let config = PostgresConfig::from_url(&format!("postgres://me@127.0.0.1:{port}/db")).expect("a URL");
    let store = store(config);
    assert_unavailable(&store).await;
    let begun = Instant::now();
    let error = store.migrate().await.expect_err("the server does not answer");
    assert!(matches!(error, MigrateError::Unavailable(_)), "{error:?}");
    assert!(begun.elapsed() < ANSWER_WITHIN + GRACE, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn locked_tables_are_unavailable_within_the_deadline() {
    let fixture = Fixture::with(as_in_production).await;
    let mut blocker = connect(fixture.database.url()).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    transaction
        .batch_execute("LOCK TABLE api_keys, audit_events IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    assert_unavailable(&fixture.store).await;
    let begun = Instant::now();
    for outcome in join_all((0..12).map(|_| read(&fixture.store))).await {
        assert_unavailable_in_time(outcome, begun);
    }
    let Err(StorageError::Unavailable(error)) = read(&fixture.store).await else {
        panic!("the lock is still held");
    };
    assert!(error.to_string().contains("lock timeout"), "{error}");
    transaction.rollback().await.expect("the lock is let go");
    read(&fixture.store).await.expect("not locked any more");
    change(&fixture.store).await.expect("not locked any more");
}

#[tokio::test]
async fn slow_statement_is_cancelled_and_changes_nothing() {
    let fixture = Fixture::with(as_in_production).await;
    fixture
        .execute(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
             CREATE TRIGGER dawdle BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION dawdle();",
        )
        .await;
    let begun = Instant::now();
    let new = fixture.new_key("slow", None);
    let id = new.key.id;
    let outcome = match fixture.add(new).await {
        Err(AddKeyError::Storage(error)) => Err(error),
        other => panic!("{other:?}"),
    };
    assert_unavailable_in_time(outcome, begun);
    let still_running = "pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
    while count(&fixture.client, still_running).await > 0 {
        let elapsed = begun.elapsed();
        assert!(elapsed < RECOVER_WITHIN + GRACE, "it runs on: {elapsed:?}");
    }
    let found = ApiKeys::find(&fixture.store, fixture.holder().consumer().id, id).await;
    assert_eq!(found.expect("the database answers"), None);
}

#[tokio::test]
async fn callers_without_a_free_connection_fail_within_the_deadline() {
    let fixture = Fixture::with(|config| {
        as_in_production(config);
        config.max_connections = 1;
    })
    .await;
    let mut blocker = connect(fixture.database.url()).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    transaction
        .batch_execute("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let begun = Instant::now();
    let (reads, lookups) = join(
        join_all((0..20).map(|_| read(&fixture.store))),
        join_all((0..20).map(|_| look_up(&fixture.store))),
    )
    .await;
    for outcome in reads.into_iter().chain(lookups) {
        assert_unavailable_in_time(outcome, begun);
    }
    transaction.rollback().await.expect("the lock is let go");
    read(&fixture.store).await.expect("room again");
}

#[tokio::test]
async fn silent_connection_is_replaced() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let mut config = PostgresConfig::from_url(&proxy.url("127.0.0.1")).expect("a URL");
    // Nothing works as long as the store holds on to a dead connection.
    config.max_connections = 1;
    config.outcome_timeout = Duration::from_secs(4);
    let store = store(config);

    until_it_works("a read", async || read(&store).await).await;
    proxy.fall_silent();
    let begun = Instant::now();
    assert_unavailable_in_time(look_up(&store).await, begun);
    let begun = Instant::now();
    assert_unavailable_in_time(read(&store).await, begun);
    proxy.speak_to_newcomers();
    until_it_works("a lookup", async || look_up(&store).await).await;

    proxy.fall_silent();
    let begun = Instant::now();
    assert_unavailable_in_time(change(&store).await, begun);
    proxy.speak_to_newcomers();
    until_it_works("a change", async || change(&store).await).await;
}

#[tokio::test]
async fn connection_opened_for_a_caller_that_left_serves_the_next() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let mut config = PostgresConfig::from_url(&proxy.url("127.0.0.1")).expect("a URL");
    config.max_connections = 1;
    let store = store(config);

    proxy.fall_silent();
    tokio::select! {
        read = read(&store) => panic!("the server does not answer: {read:?}"),
        () = proxy.until_connections(1) => {}
    }
    proxy.speak_again();
    read(&store).await.expect("a read");
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn few_connections_of_a_pool_are_opened_at_once() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let store = store(long_timeouts(&proxy.url("127.0.0.1")));

    proxy.fall_silent();
    let reads = futures_util::future::try_join_all((0..12).map(|_| read(&store)));
    let see = async {
        proxy.until_connections(4).await;
        // Time for others to come.
        count(&fixture.client, "api_keys").await;
        let opened = proxy.connections();
        proxy.speak_again();
        opened
    };
    let (read, opened) = tokio::join!(reads, see);
    read.expect("all are served");
    assert_eq!(opened, 4);
}

#[tokio::test]
async fn revocation_succeeds_although_the_preceding_read_stalls() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let mut config = PostgresConfig::from_url(&proxy.url("127.0.0.1")).expect("a URL");
    (config.answer_timeout, config.outcome_timeout) = (Duration::from_secs(8), Duration::from_secs(9));
    let store = store(config);
    until_it_works("a read", async || read(&store).await).await;
    // The precheck uses the existing connection, and the change opens a new one.
    proxy.fall_silent();
    proxy.speak_to_newcomers();

    let (holder, act, any) = (fixture.holder(), fixture.act(), KeyPrecondition::AnyVersion);
    let (consumer, key) = (holder.consumer().id, fixture.key.key.id);
    let (reason, below) = (RevocationReason::Holder, DescendantKeys::Revoke);
    let revoked = ApiKeys::revoke(&store, consumer, key, reason.into(), below, any, act).await;
    assert_eq!(revoked.expect("a revocation"), [key]);
}

#[tokio::test]
async fn attempt_is_counted_although_the_preceding_read_stalls() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let mut config = PostgresConfig::from_url(&proxy.url("127.0.0.1")).expect("a URL");
    (config.answer_timeout, config.outcome_timeout) = (Duration::from_secs(8), Duration::from_secs(9));
    let store = store(config);
    until_it_works("a read", async || read(&store).await).await;
    proxy.fall_silent();
    proxy.speak_to_newcomers();

    let buckets = ThrottleBucket::of_attempt(CountedAccount::new("ada", None), None);
    let now = fixture.make.clock.now();
    let taken = Throttle::count_attempt(&store, AttemptKind::SignIn, buckets, now).await;
    assert_eq!(taken.expect("a count"), None);
    assert!(count(&fixture.client, "sign_in_throttle").await > 0);
}

#[tokio::test]
async fn read_only_database_serves_reads_and_refuses_changes_as_unavailable() {
    let fixture = Fixture::with(as_in_production).await;
    let store = &fixture.store;
    let name = fixture.database.name();
    // A session keeps the settings of its start.
    let read_only = |word: &str| format!("ALTER DATABASE {name} SET default_transaction_read_only = {word}");
    fixture.execute(&read_only("on")).await;
    fixture
        .client
        .execute(KILL, &[])
        .await
        .expect("new sessions from now on");
    until_it_works("a read", async || read(store).await).await;
    let begun = Instant::now();
    assert_unavailable_in_time(change(store).await, begun);
    read(store).await.expect("a read");

    fixture.execute(&read_only("off")).await;
    until_it_works("a change", async || change(store).await).await;
}

const KILL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'keyward'";

async fn until_it_works(what: &str, mut attempt: impl AsyncFnMut() -> Result<(), StorageError>) {
    let begun = Instant::now();
    while let Err(error) = attempt().await {
        let elapsed = begun.elapsed();
        assert!(elapsed < RECOVER_WITHIN + GRACE, "{what}: {elapsed:?}: {error:?}");
    }
}

#[tokio::test]
async fn refused_connection_is_an_obstacle_that_an_operator_can_remove() {
    let fixture = Fixture::new().await;
    let name = fixture.database.name();
    let role = format!("{name}_guest");
    fixture
        .execute(&format!("CREATE ROLE {role} LOGIN PASSWORD 'guest'"))
        .await;
    let (_, rest) = fixture.database.url().split_once('@').expect("a URL with a user");
    let store = store(long_timeouts(&format!("postgres://{role}:guest@{rest}")));
    for (refusal, end) in [
        (
            format!("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC"),
            format!("GRANT CONNECT ON DATABASE {name} TO PUBLIC"),
        ),
        (
            format!("ALTER ROLE {role} NOLOGIN"),
            format!("ALTER ROLE {role} LOGIN"),
        ),
    ] {
        fixture.execute(&refusal).await;
        let error = change(&store).await.expect_err("refused");
        assert!(matches!(error, StorageError::Unavailable(_)), "{error:?}");
        assert_eq!(
            Obstacle::of(&error),
            Some(Obstacle::ConnectionRefused),
            "{refusal}: {error:?}"
        );
        fixture.execute(&end).await;
    }
    fixture.execute(&format!("DROP ROLE {role}")).await;
}

#[tokio::test]
async fn too_many_connections_are_unavailable() {
    let fixture = Fixture::with(as_in_production).await;
    let name = fixture.database.name();
    // Superusers are accepted all the same, so another role has to connect.
    let role = format!("{name}_guest");
    fixture
        .execute(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'guest'; ALTER DATABASE {name} CONNECTION LIMIT 0"
        ))
        .await;
    let (_, rest) = fixture.database.url().split_once('@').expect("a URL with a user");
    let url = format!("postgres://{role}:guest@{rest}");
    assert_unavailable(&store(PostgresConfig::from_url(&url).expect("a URL"))).await;
    fixture.execute(&format!("DROP ROLE {role}")).await;
}

#[tokio::test]
async fn silent_connections_are_detected_and_later_calls_succeed() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let mut config = PostgresConfig::from_url(&proxy.url("127.0.0.1")).expect("a URL");
    config.max_connections = 4;
    let store = store(config);
    // Several connections, all of which are about to be dead.
    let reads = (0..4).map(|_| read(&store));
    futures_util::future::try_join_all(reads)
        .await
        .expect("the line works");

    let events = count(&fixture.client, "audit_events").await;
    proxy.fall_silent();
    assert_unavailable(&store).await;
    proxy.speak_again();

    until_it_works("a read", async || read(&store).await).await;
    until_it_works("a change", async || change(&store).await).await;
    let events_since = count(&fixture.client, "audit_events").await - events;
    assert_eq!(
        events_since, 1,
        "the change that was told to have failed did not happen"
    );
}

#[tokio::test]
async fn confirmed_change_is_on_standbys_with_any_default() {
    let fixture = Fixture::with(as_in_production).await;
    let name = fixture.database.name();
    fixture
        .execute(
            "CREATE TABLE seen (setting text);
             CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN INSERT INTO seen SELECT setting FROM pg_settings
                    WHERE name = 'synchronous_commit' AND source = 'session'; RETURN NULL; END $$;
             CREATE TRIGGER look AFTER INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION look();",
        )
        .await;
    // A setting that waits for more than the disks stays, and the session's own setting survives a reload of
    // the configuration.
    for (default, seen) in [
        ("off", "on"),
        ("local", "on"),
        ("remote_write", "on"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ] {
        fixture
            .execute(&format!(
                "TRUNCATE seen; ALTER DATABASE {name} SET synchronous_commit = {default}"
            ))
            .await;
        let store = store(PostgresConfig::from_url(fixture.database.url()).expect("a URL"));
        let new = fixture.new_key(default, None);
        let act = fixture.act();
        store.add_key(new, act).await.expect("a key is added");
        assert_eq!(
            count(&fixture.client, &format!("seen WHERE setting = '{seen}'")).await,
            1,
            "{default}"
        );
    }
}

#[tokio::test]
async fn statements_run_without_jit_despite_database_setting() {
    let fixture = Fixture::with(as_in_production).await;
    let name = fixture.database.name();
    fixture
        .execute(&format!(
            "ALTER DATABASE {name} SET jit = on;
             CREATE TABLE seen (setting text);
             CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN INSERT INTO seen SELECT current_setting('jit'); RETURN NULL; END $$;
             CREATE TRIGGER look AFTER INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION look();"
        ))
        .await;
    let store = store(PostgresConfig::from_url(fixture.database.url()).expect("a URL"));
    let act = fixture.act();
    store
        .add_key(fixture.new_key("key", None), act)
        .await
        .expect("a key is added");
    assert_eq!(count(&fixture.client, "seen WHERE setting = 'off'").await, 1);
}

#[tokio::test]
async fn standby_is_not_queried() {
    let fixture = Fixture::with(as_in_production).await;
    let name = fixture.database.name();
    // The state that a standby reports.
    fixture
        .execute(&format!(
            "CREATE SCHEMA standby;
             CREATE FUNCTION standby.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true';
             ALTER DATABASE {name} SET search_path = standby, public, pg_catalog"
        ))
        .await;
    fixture
        .client
        .execute(KILL, &[])
        .await
        .expect("new sessions from now on");
    let begun = Instant::now();
    let error = loop {
        // The first may still meet a connection that was killed.
        match read(&fixture.store).await {
            Err(StorageError::Unavailable(error)) if error.to_string().contains("standby") => break error,
            other => assert!(begun.elapsed() < GRACE, "{other:?}"),
        }
    };
    assert!(error.to_string().contains("the server is a standby"), "{error}");
}

#[tokio::test]
async fn writable_server_is_found_among_several() {
    let fixture = Fixture::with(as_in_production).await;
    let url = fixture.database.url();
    let (before, after) = url.split_once('@').expect("a URL with a user");
    let config = PostgresConfig::from_url(&format!("{before}@127.0.0.1:1,{after}")).expect("a URL");
    change(&store(config)).await.expect("the second server");
}
