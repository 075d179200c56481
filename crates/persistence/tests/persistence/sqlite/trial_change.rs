//! Results of a trial change.

use std::fs;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use keyward_persistence::TrialFailure;

use crate::sqlite::fixture::Fixture;

#[tokio::test]
async fn trial_change_adds_no_row_but_writes_to_the_file() {
    let fixture = Fixture::new().await;
    let rows = "(SELECT only_row FROM installation UNION ALL SELECT 1 FROM audit_events)";
    let before = fixture.directory.count(rows);
    let log = fixture.directory.path().join("keyward.db-wal");
    let written = || fs::metadata(&log).expect("a write-ahead log").len();
    for _ in 0..2 {
        let written_before = written();
        fixture.store.try_change().await.expect("changes work");
        assert!(written() > written_before);
    }
    assert_eq!(fixture.directory.count(rows), before);
}

#[tokio::test]
async fn missing_file_refuses_a_trial_change() {
    let fixture = Fixture::new().await;
    fs::rename(fixture.directory.file(), fixture.directory.path().join("away.db")).expect("moved away");
    let refused = fixture.store.try_change().await;
    assert!(matches!(refused, Err(TrialFailure::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn trial_change_waiting_for_another_process_is_slow() {
    let fixture = Fixture::with(|config| config.busy_timeout = Duration::from_millis(50)).await;
    let mut other = fixture.directory.connect();
    other.batch_execute("BEGIN IMMEDIATE").expect("the lock");
    let slow = fixture.store.try_change().await;
    assert!(matches!(slow, Err(TrialFailure::Slow(_))), "{slow:?}");
    other.batch_execute("ROLLBACK").expect("the end");
    fixture.store.try_change().await.expect("changes work");
}
