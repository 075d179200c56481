//! Retention does not rely on a single clock.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{AuditFilter, AuditLog};
use keyward_domain::retention::{ClockDoubt, Retention, RetentionClass, RetentionError, RetentionPeriods};
use keyward_domain::sources::Sources;
use keyward_domain::testing::FixedClock;

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    clock_wrong_before_its_first_check_is_not_trusted,
    newest_imported_event_counts_as_the_last_clock_check,
    server_clock_400_days_ahead_removes_nothing,
    confirmed_clock_after_downtime_removes_old_events_with_one_event,
    events_of_the_last_30_days_cannot_be_removed,
);

const BATCH_SIZE: u32 = 5;

/// How late it is for the database.
async fn present(database: &Database) -> DateTime<Utc> {
    let now = if database.is_postgres() {
        "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS text"
    } else {
        "SELECT strftime('%Y-%m-%dT%H:%M:%fZ') AS text"
    };
    database.texts(now).await.concat().parse().expect("a moment")
}

/// Retention with periods of 30 days, on a server whose clock shows `now`.
fn retention(scene: &Scene, now: DateTime<Utc>) -> Retention {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock::at(&now.to_rfc3339()));
    let days = TimeDelta::days(30);
    let periods = RetentionPeriods::default()
        .with_audit_events(days)
        .and_then(|periods| periods.with_dead_keys(days))
        .expect("periods");
    Retention::new(
        Arc::clone(&scene.database.store) as _,
        Sources::new(clock, Arc::clone(&scene.make.random) as _),
        periods,
    )
}

async fn record_at(scene: &Scene, at: DateTime<Utc>) {
    let act = scene.make.act(Actor::Administrator);
    let mut event = act.event(Action::CreateSetupLink, Subject::Installation);
    event.at = at;
    let recorded = AuditLog::record(&*scene.database.store, event).await;
    recorded.expect("an event");
}

/// The moment of the last look. Tests' databases on a server are copies of one that may be weeks old.
async fn believe(database: &Database, at: DateTime<Utc>) {
    let value = if database.is_postgres() {
        format!("'{}'", at.to_rfc3339())
    } else {
        at.timestamp_millis().to_string()
    };
    database
        .execute(&format!("UPDATE retention_clock SET believed_at = {value}"))
        .await;
}

async fn clock_wrong_before_its_first_check_is_not_trusted(database: Database) {
    let scene = Scene::new(database).await;
    let now = present(&scene.database).await;
    let ahead = now + TimeDelta::days(400);
    // The same clock times what people do.
    record_at(&scene, ahead).await;
    let store = &scene.database.store;
    let doubt = store.check_clock(ahead, false).await.expect("an answer");
    assert!(doubt.is_some(), "the tables were not made in a year to come");
}

async fn newest_imported_event_counts_as_the_last_clock_check(database: Database) {
    let scene = Scene::new(database).await;
    let now = present(&scene.database).await;
    record_at(&scene, now).await;
    let export = scene.database.export().await;
    let to = match scene.database.is_postgres() {
        true => Database::postgres().await,
        false => Database::sqlite().await,
    };
    believe(&to, now - TimeDelta::days(100)).await;
    to.import(export).await.expect("an import");
    let ahead = now + TimeDelta::days(400);
    assert!(
        to.store
            .check_clock(ahead, false)
            .await
            .expect("an answer")
            .is_some()
    );
    assert_eq!(to.store.check_clock(now, false).await.expect("an answer"), None);
}

async fn server_clock_400_days_ahead_removes_nothing(database: Database) {
    let scene = Scene::new(database).await;
    let now = present(&scene.database).await;
    believe(&scene.database, now).await;
    let before = scene.database.count("audit_events").await;
    for hours in [0, 1, 24, 25, 24 * 40] {
        let ahead = now + TimeDelta::days(400) + TimeDelta::hours(hours);
        let refused = retention(&scene, ahead).begin().await.err().expect("a doubt");
        assert!(matches!(refused, RetentionError::Clock(_)), "{refused:?}");
    }
    assert_eq!(scene.database.count("audit_events").await, before);
    // Once the clock is set, retention works again.
    assert!(retention(&scene, now).begin().await.is_ok());
}

async fn confirmed_clock_after_downtime_removes_old_events_with_one_event(database: Database) {
    let scene = Scene::new(database).await;
    // Everything in the scene happened at the beginning of 2026, and nothing since.
    let now = present(&scene.database).await;
    believe(&scene.database, now - TimeDelta::days(100)).await;
    let old = scene.database.count("audit_events").await;
    assert!(old > usize::try_from(BATCH_SIZE).expect("a size"), "{old}");
    for _ in 0..2 {
        let refused = retention(&scene, now).begin().await.err().expect("a doubt");
        assert!(
            matches!(refused, RetentionError::Clock(ClockDoubt::Jumped { .. })),
            "{refused:?}"
        );
    }
    let confirmed = retention(&scene, now).begin_by_confirmed_clock().await;
    drop(confirmed.expect("no doubt"));
    // From then on it is trusted without being confirmed again.
    let mut run = retention(&scene, now).begin().await.expect("no doubt");
    let mut removed = 0;
    loop {
        match run
            .remove_batch(RetentionClass::AuditEvents, BATCH_SIZE)
            .await
            .expect("a removal")
        {
            0 => break,
            batch => removed += batch,
        }
    }
    assert_eq!(usize::try_from(removed), Ok(old));
    assert_eq!(
        scene.database.count("audit_events").await,
        1,
        "one event for all batches"
    );
    let page = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let store = &scene.database.store;
    let events = AuditLog::list(&**store, None, AuditFilter::default(), page).await;
    let events = events.expect("the log").items;
    assert_eq!(
        events.iter().map(|event| event.actor).collect::<Vec<_>>(),
        [Actor::System]
    );
    assert_eq!(
        events.iter().map(|event| event.action).collect::<Vec<_>>(),
        [Action::RemoveAuditEvents]
    );
}

async fn events_of_the_last_30_days_cannot_be_removed(database: Database) {
    let scene = Scene::new(database).await;
    let now = present(&scene.database).await;
    record_at(&scene, now - TimeDelta::days(29)).await;
    let before = scene.database.count("audit_events").await;
    let act = scene.make.act(Actor::System);
    let event = act.event(Action::RemoveAuditEvents, Subject::Installation);
    let ahead = now + TimeDelta::days(400);
    let removed = scene
        .database
        .store
        .remove_audit_events(ahead, 1_000, Some(event))
        .await;
    assert_eq!(usize::try_from(removed.expect("a removal")), Ok(before - 1));
    let statement = if scene.database.is_postgres() {
        "BEGIN; SET LOCAL keyward.audit_events_removable_before = '2999-01-01'; DELETE FROM audit_events; COMMIT"
    } else {
        "BEGIN; INSERT INTO audit_events_removal VALUES (32472144000000); DELETE FROM audit_events; COMMIT"
    };
    let refused = scene
        .database
        .try_execute(statement)
        .await
        .expect_err("a refusal");
    assert!(refused.contains("append-only"), "{refused}");
    assert_eq!(
        scene.database.count("audit_events").await,
        2,
        "the young one, and the removal"
    );
}
