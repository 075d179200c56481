//! The log in the order of commits, where it takes more than the ports.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::id::AuditEventId;
use keyward_domain::page::PageSize;
use keyward_domain::ports::{AuditLog, FeedPosition, ReadFeedError};
use keyward_domain::testing::Builder;

use crate::database::{Database, Store};

on_both!(
    import_keeps_commit_order_and_positions_of_events,
    events_inserted_outside_the_store_are_numbered,
);

/// Events whose moments and identifiers fall.
async fn record_against_time(store: &Arc<dyn Store>, count: usize) -> Vec<AuditEventId> {
    let make = Builder::new(1);
    let act = |_| {
        make.clock.advance(TimeDelta::days(1));
        make.act(Actor::Administrator)
            .event(Action::CreateSetupLink, Subject::Installation)
    };
    let mut events: Vec<_> = (0..count).map(act).collect();
    events.reverse();
    for event in &events {
        let recorded = AuditLog::record(&**store, event.clone()).await;
        recorded.expect("an event");
    }
    events.iter().map(|event| event.id).collect()
}

async fn positions(store: &Arc<dyn Store>, after: Option<FeedPosition>) -> Vec<FeedPosition> {
    let page = store.events_after(after, PageSize::EXPORT).await.expect("a page");
    page.entries.into_iter().map(|(position, _)| position).collect()
}

async fn order(store: &Arc<dyn Store>, after: Option<FeedPosition>) -> Vec<AuditEventId> {
    let positions = positions(store, after).await;
    positions.into_iter().map(|position| position.event).collect()
}

async fn import_keeps_commit_order_and_positions_of_events(from: Database) {
    let recorded = record_against_time(&from.store, 20).await;
    let given = positions(&from.store, None).await;
    assert_eq!(order(&from.store, None).await, recorded);
    let export = from.export().await;
    for to in Database::both().await {
        to.import(export.clone()).await.expect("an import");
        assert_eq!(order(&to.store, None).await, recorded);
        for (read, position) in given.iter().enumerate() {
            assert_eq!(order(&to.store, Some(*position)).await, recorded[read + 1..]);
        }
        // Another event at that number, in another log.
        let unknown = FeedPosition {
            event: Builder::new(2).ids.next(),
            ..given[3]
        };
        let refused = to.store.events_after(Some(unknown), PageSize::ONE).await;
        assert!(
            matches!(refused, Err(ReadFeedError::UnknownPosition(_))),
            "{refused:?}"
        );
        assert_eq!(to.export().await, export);
    }
}

/// Writes events as a previous version without numbers would.
async fn events_inserted_outside_the_store_are_numbered(database: Database) {
    let recorded = record_against_time(&database.store, 2).await;
    let moment = if database.is_postgres() { "now()" } else { "0" };
    for _ in 0..3 {
        let id = database.new_id();
        database
            .execute(&format!(
                "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
                 VALUES ({id}, {moment}, 'administrator', 'setup_link.create', 'installation', 'success')"
            ))
            .await;
    }
    let numbers: Vec<u64> = positions(&database.store, None)
        .await
        .iter()
        .map(|position| position.number)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(order(&database.store, None).await[..2], recorded);
}
