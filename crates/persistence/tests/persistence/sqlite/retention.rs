//! Removing what is kept no longer: what the domain's suite cannot ask, because it does not know the database.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::connection::SimpleConnection;
use diesel::result::Error as QueryError;
use keyward_domain::administration::ports::{FamilySize, OrganizationKeyStore};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{ApiKeys, AuditLog, DescendantKeys};
use keyward_domain::retention::ports::{RemoveAuditEventsError, RetentionStore};

use crate::sqlite::fixture::{Fixture, blob};

const ALL: u32 = 500;

async fn remove_events(fixture: &Fixture, before: DateTime<Utc>) -> Result<u32, RemoveAuditEventsError> {
    let act = fixture.make.act(Actor::Administrator);
    let event = act.event(Action::RemoveAuditEvents, Subject::Installation);
    fixture.store.remove_audit_events(before, ALL, event).await
}

/// Why the statements are refused, which are undone.
fn refusal(fixture: &Fixture, statements: &str) -> String {
    match fixture.directory.connect().batch_execute(statements) {
        Err(QueryError::DatabaseError(_, information)) => information.message().to_owned(),
        other => panic!("{statements}: {other:?}"),
    }
}

#[tokio::test]
async fn a_removal_that_goes_too_far_is_refused_by_the_database() {
    let fixture = Fixture::new().await;
    let now = fixture.make.clock.now();
    let moment = now.timestamp_millis();
    let before = fixture.directory.count("audit_events");
    let removal = |before: i64| format!("BEGIN; INSERT INTO audit_events_removal VALUES ({before})");
    for (statement, operation) in [
        ("DELETE FROM audit_events".to_owned(), "DELETE"),
        (format!("{}; DELETE FROM audit_events", removal(moment)), "DELETE"),
        (
            format!(
                "{}; UPDATE audit_events SET outcome = 'refused'",
                removal(moment + 1)
            ),
            "UPDATE",
        ),
        (
            format!(
                "{}; REPLACE INTO audit_events SELECT * FROM audit_events",
                removal(moment + 1)
            ),
            "REPLACE",
        ),
    ] {
        let expected = format!("audit_events is append-only: {operation} is refused");
        assert_eq!(refusal(&fixture, &statement), expected, "{statement}");
    }
    assert_eq!(fixture.directory.count("audit_events"), before);

    let removed = remove_events(&fixture, now + TimeDelta::milliseconds(1)).await;
    assert_eq!(removed.map(i64::from).expect("a removal"), before);
    assert_eq!(fixture.directory.count("audit_events"), 1);
    assert_eq!(fixture.directory.count("audit_events_removal"), 0);
    let refused = refusal(&fixture, "DELETE FROM audit_events");
    assert_eq!(refused, "audit_events is append-only: DELETE is refused");
}

#[tokio::test]
async fn an_event_goes_by_its_moment_and_never_before_the_moment_of_its_identifier() {
    let fixture = Fixture::new().await;
    let (make, day) = (&fixture.make, TimeDelta::days(1));
    let begun = make.clock.now();
    // Whoever made this identifier has a clock that is a day ahead.
    make.clock.advance(day);
    let mut ahead = make
        .act(Actor::Administrator)
        .event(Action::CreateSetupLink, Subject::Installation);
    ahead.at = begun;
    // And this one has a clock that is a day behind.
    let mut behind = make
        .act(Actor::Administrator)
        .event(Action::CreateSetupLink, Subject::Installation);
    behind.at = begun + day * 2;
    make.clock.advance(day * 3);
    let ids = [ahead.id, behind.id];
    for event in [ahead, behind] {
        fixture.store.record(event).await.expect("an event");
    }
    let kept = || {
        ids.map(|id| {
            fixture
                .directory
                .count(&format!("audit_events WHERE id = {}", blob(id.as_uuid())))
        })
    };

    assert!(remove_events(&fixture, begun + day).await.expect("a removal") > 0);
    assert_eq!(kept(), [1, 1]);
    assert!(remove_events(&fixture, begun + day * 2).await.expect("a removal") > 0);
    assert_eq!(kept(), [0, 1]);
    assert!(remove_events(&fixture, begun + day * 3).await.expect("a removal") > 0);
    assert_eq!(kept(), [0, 0]);
}

/// Adds revoked keys, and valid ones below each, by the shortest way.
fn add_family(fixture: &Fixture, above: ApiKeyId, revoked: u32, below_each: u32) {
    let above = blob(above.as_uuid());
    fixture.directory.execute(&format!(
        "WITH RECURSIVE series (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM series WHERE number < {revoked})
         INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                               created_at, revoked_at, revoked_by_kind, revoked_reason)
         SELECT randomblob(16), consumer_id, randomblob(32), hint, 'dead {below_each}', description, search_text, id,
                created_at, created_at, 'administrator', 'leak'
         FROM api_keys, series WHERE id = {above};
         WITH RECURSIVE series (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM series WHERE number < {below_each})
         INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                               created_at)
         SELECT randomblob(16), consumer_id, randomblob(32), hint, 'below', description, search_text, id, created_at
         FROM api_keys, series WHERE name = 'dead {below_each}'"
    ));
}

#[tokio::test]
async fn as_many_keys_go_at_once_as_those_below_them_can_be_given_to_others() {
    let fixture = Fixture::new().await;
    let above = fixture.key.key.id;
    add_family(&fixture, above, 6, 900);
    add_family(&fixture, above, 1, 3_000);
    let now = fixture.make.clock.now() + TimeDelta::days(1);
    let mut portions = Vec::new();
    loop {
        match fixture.store.remove_dead_keys(now, ALL).await.expect("a removal") {
            0 => break,
            removed => portions.push(removed),
        }
    }
    assert!(portions.len() > 1, "{portions:?}");
    assert_eq!(portions.iter().sum::<u32>(), 7);
    let adopted = format!("api_keys WHERE adopted_by_key_id = {}", blob(above.as_uuid()));
    assert_eq!(fixture.directory.count(&adopted), 6 * 900 + 3_000);
    let everything = FamilySize {
        ancestors: 1,
        keys: u16::MAX,
    };
    let organization = fixture.owner.organization.id;
    let family = fixture.store.family(organization, above, everything).await;
    assert_eq!(family.expect("a family").keys.len(), 1 + 6 * 900 + 3_000);
}

#[tokio::test]
async fn keys_that_come_and_go_leave_the_file_no_larger() {
    const ROUNDS: u32 = 4;
    let fixture = Fixture::new().await;
    let (consumer, parent) = (fixture.holder().consumer().id, fixture.key.key.id);
    let round = async || {
        for _ in 0..50 {
            let child = fixture.new_child(parent, "comes and goes");
            let id = child.key.id;
            fixture.add(child).await.expect("a child");
            let (reason, descendants) = (RevocationReason::Holder, DescendantKeys::Keep);
            let revoked = ApiKeys::revoke(&fixture.store, consumer, id, reason, descendants, fixture.act());
            revoked.await.expect("a revoked child");
        }
        fixture.make.clock.advance(TimeDelta::days(1));
        let now = fixture.make.clock.now();
        while fixture.store.remove_dead_keys(now, ALL).await.expect("a removal") > 0 {}
        while remove_events(&fixture, now).await.expect("a removal") > 0 {}
    };
    let pages = || {
        fixture
            .directory
            .texts("SELECT CAST(page_count AS TEXT) AS text FROM pragma_page_count")
    };
    let pages = || pages().concat().parse::<i64>().expect("a number of pages");
    for _ in 0..ROUNDS {
        round().await;
    }
    let once = pages();
    for _ in 0..ROUNDS {
        round().await;
    }
    let twice = pages();
    assert_eq!(fixture.directory.count("api_keys"), 1);
    assert_eq!(fixture.directory.count("audit_events"), 1);
    assert!(twice < once * 5 / 4, "{once} pages, then {twice}");
}
