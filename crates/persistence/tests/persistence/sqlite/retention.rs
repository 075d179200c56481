//! Removal of expired records: cases for which the domain's suite would have to know the database.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::connection::SimpleConnection;
use diesel::result::Error as QueryError;
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::retention::ports::{RetentionError, RetentionStore};

use crate::sqlite::fixture::Fixture;

const ALL: u32 = 500;

async fn remove_events(fixture: &Fixture, before: DateTime<Utc>) -> Result<u32, RetentionError> {
    let act = fixture.make.act(Actor::System);
    let event = act.event(Action::RemoveAuditEvents, Subject::Installation);
    fixture.store.remove_audit_events(before, ALL, Some(event)).await
}

/// Why the statements are refused, which are undone.
fn refusal(fixture: &Fixture, statements: &str) -> String {
    match fixture.directory.connect().batch_execute(statements) {
        Err(QueryError::DatabaseError(_, information)) => information.message().to_owned(),
        other => panic!("{statements}: {other:?}"),
    }
}

#[tokio::test]
async fn removal_beyond_its_limits_is_refused_by_the_database() {
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
