//! The log in the order of commits, while transactions commit in another order than that in which they took
//! their numbers.

use chrono::TimeDelta;
use keyward_domain::clock::Clock;
use keyward_domain::id::AuditEventId;
use keyward_domain::page::PageSize;
use keyward_domain::ports::{AuditFeed, FeedPosition};
use keyward_domain::retention::ports::RetentionStore;
use tokio_postgres::Client;

use crate::postgres::fixture::{Fixture, connect, count, long_timeouts, store};

const WRITERS: usize = 8;
const ROUNDS: usize = 12;

async fn run(client: &Client, statements: &str) {
    client.batch_execute(statements).await.expect(statements);
}

/// Writes an event in the transaction that is open, and says which.
async fn write(client: &Client) -> AuditEventId {
    let row = client
        .query_one(
            "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
             VALUES (gen_random_uuid(), now(), 'anonymous', 'session.sign_in', 'installation', 'refused')
             RETURNING id::text",
            &[],
        )
        .await
        .expect("an event");
    row.get::<_, &str>(0).parse().expect("an identifier")
}

/// A follower, with its position.
struct Reader {
    fixture: Fixture,
    after: Option<FeedPosition>,
}

impl Reader {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let after = fixture.store.last_position().await.expect("an answer");
        assert!(after.is_some(), "what the installation began with");
        Self { fixture, after }
    }

    async fn read(&mut self) -> Vec<AuditEventId> {
        let page = self
            .fixture
            .store
            .events_after(self.after, PageSize::EXPORT)
            .await;
        let entries = page.expect("a page").entries;
        self.after = entries.last().map_or(self.after, |last| Some(last.0));
        entries.into_iter().map(|(position, _)| position.event).collect()
    }

    async fn connect(&self) -> Client {
        connect(self.fixture.database.url()).await
    }

    /// Each of the writers gets a number, and they commit in another order; after each commit, the follower
    /// reads.
    async fn read_while_many_commit(&mut self) -> (Vec<AuditEventId>, Vec<AuditEventId>) {
        let (mut written, mut read) = (Vec::new(), Vec::new());
        let mut writers = Vec::new();
        for _ in 0..WRITERS {
            writers.push(self.connect().await);
        }
        for round in 0..ROUNDS {
            for writer in &writers {
                run(writer, "BEGIN").await;
                written.push(write(writer).await);
            }
            // Every step that is odd meets each of the eight once.
            let step = 2 * round + 1;
            for turn in 0..WRITERS {
                let writer = &writers[(turn * step + round) % WRITERS];
                // Some take a second number when others have taken theirs.
                if turn % 3 == 0 {
                    written.push(write(writer).await);
                }
                run(writer, "COMMIT").await;
                read.extend(self.read().await);
            }
        }
        (written, read)
    }
}

#[tokio::test]
async fn events_committed_out_of_order_are_read_by_number() {
    let mut reader = Reader::new().await;
    let (written, read) = reader.read_while_many_commit().await;
    assert_eq!(read, written);
}

/// Shows that the test above would find the error: it fails if transactions do not announce their numbers.
#[tokio::test]
async fn unannounced_transaction_numbers_make_readers_miss_events() {
    let mut reader = Reader::new().await;
    reader
        .fixture
        .execute("ALTER TABLE audit_events DISABLE TRIGGER audit_events_announced")
        .await;
    let (written, read) = reader.read_while_many_commit().await;
    assert!(read.len() < written.len(), "{} of {}", read.len(), written.len());
}

#[tokio::test]
async fn event_is_withheld_until_lower_numbers_are_committed() {
    let mut reader = Reader::new().await;
    let (slow, quick) = (reader.connect().await, reader.connect().await);
    run(&slow, "BEGIN; SAVEPOINT first").await;
    write(&slow).await;
    run(&slow, "ROLLBACK TO first").await;
    let lower = write(&slow).await;
    let higher = write(&quick).await;

    assert_eq!(reader.read().await, []);
    assert_eq!(
        reader.fixture.store.last_position().await.expect("an answer"),
        reader.after
    );
    run(&slow, "COMMIT").await;
    assert_eq!(reader.read().await, [lower, higher]);
    assert_eq!(reader.read().await, []);
}

#[tokio::test]
async fn transactions_ending_without_their_events_block_no_reader() {
    let mut reader = Reader::new().await;
    let (given_up, killed, quick) = (
        reader.connect().await,
        reader.connect().await,
        reader.connect().await,
    );
    for writer in [&given_up, &killed] {
        run(writer, "BEGIN").await;
        write(writer).await;
    }
    let event = write(&quick).await;
    assert_eq!(reader.read().await, []);
    run(&given_up, "ROLLBACK").await;
    let end = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
               WHERE datname = current_database() AND state = 'idle in transaction'";
    run(&quick, end).await;
    assert_eq!(reader.read().await, [event]);
}

/// A long transaction that writes no events, and one of another database, do not hold back events.
#[tokio::test]
async fn transactions_without_events_block_no_reader() {
    let mut reader = Reader::new().await;
    let elsewhere = Reader::new().await;
    let (here, other) = (reader.connect().await, elsewhere.connect().await);
    run(&here, "BEGIN; UPDATE users SET display_name = 'Ada'").await;
    run(&other, "BEGIN").await;
    write(&other).await;
    let event = write(&reader.fixture.client).await;
    assert_eq!(reader.read().await, [event]);
}

#[tokio::test]
async fn events_removed_during_page_reading_are_detected_as_missing() {
    let reader = Reader::new().await;
    let fixture = &reader.fixture;
    let old = "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
               SELECT ('00000000-0000-7000-8000-' || lpad(number::text, 12, '0'))::uuid, '2024-01-01',
                   'anonymous', 'session.sign_in', 'installation', 'refused' FROM generate_series(1, 3) AS number";
    fixture.execute(old).await;
    let young = write(&fixture.client).await;
    // Reading pauses between the query for the log and the one for events; an announced number makes it query
    // which database it is.
    let name = fixture.database.name();
    fixture
        .execute(&format!(
            "CREATE SCHEMA slow;
             CREATE FUNCTION slow.current_database() RETURNS name LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_advisory_xact_lock_shared(77); RETURN pg_catalog.current_database(); END $$;
             ALTER DATABASE {name} SET search_path = slow, public, pg_catalog"
        ))
        .await;
    let (gate, announcing) = (reader.connect().await, reader.connect().await);
    run(&gate, "SELECT pg_advisory_lock(77)").await;
    run(&announcing, "SELECT pg_advisory_lock_shared(1635083369, 1000000)").await;
    let store = store(long_timeouts(fixture.database.url()));
    let after = reader.after;
    let reading = tokio::spawn(async move { store.events_after(after, PageSize::EXPORT).await });
    let waiting =
        "pg_stat_activity WHERE datname = pg_catalog.current_database() AND wait_event = 'advisory'";
    while count(&fixture.client, waiting).await == 0 {}
    let before = fixture.make.clock.now() - TimeDelta::days(1);
    let removed = fixture.store.remove_audit_events(before, 1_000, None).await;
    assert_eq!(removed.expect("a removal"), 3);
    run(&gate, "SELECT pg_advisory_unlock(77)").await;

    let page = reading.await.expect("no panic").expect("a page");
    let found: Vec<AuditEventId> = page.entries.iter().map(|(position, _)| position.event).collect();
    assert_eq!(found, [young]);
    assert!(page.removed_through > page.after, "{page:?}");
}

#[tokio::test]
async fn readers_starting_at_any_time_see_the_same_order() {
    let mut reader = Reader::new().await;
    let begun = reader.after;
    let (_, read) = reader.read_while_many_commit().await;
    let later = store(long_timeouts(reader.fixture.database.url()));
    let page = later.events_after(begun, PageSize::EXPORT).await.expect("a page");
    let found: Vec<AuditEventId> = page.entries.iter().map(|(position, _)| position.event).collect();
    assert_eq!(found, read);
}
