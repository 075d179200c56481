//! A change is not stored if the database refuses its audit event.

use keyward_domain::audit::Action;
use keyward_domain::testing::Builder;

use crate::both::changes::{Change, ways_to};
use crate::both::first_run::FirstRun;
use crate::both::scene::{Attempt, Scene};
use crate::database::Database;

on_both!(
    no_change_commits_without_its_event,
    setup_is_refused_without_its_events,
    no_key_of_a_batch_is_revoked_without_its_event,
    repaired_audit_log_accepts_changes_again,
);

async fn no_change_commits_without_its_event(database: Database) {
    let scene = Scene::new(database).await;
    let before = rows(&scene.database).await;
    for action in Action::ALL {
        scene.database.refuse_events(&of_action(*action)).await;
        let (_, changes) = ways_to(*action);
        for change in changes {
            assert_refused(scene.attempt(*change).await, &format!("{change:?}"));
            assert_unchanged(
                &scene.database,
                &before,
                &format!("{change:?} without {action:?}"),
            )
            .await;
        }
    }
}

async fn setup_is_refused_without_its_events(database: Database) {
    let first_run = FirstRun::new(&database, &Builder::new(1)).await;
    let before = rows(&database).await;
    for action in Action::ALL {
        database.refuse_events(&of_action(*action)).await;
        let (changes, _) = ways_to(*action);
        for change in changes {
            assert_refused(first_run.attempt(*change).await, &format!("{change:?}"));
            assert_unchanged(&database, &before, &format!("{change:?} without {action:?}")).await;
        }
    }
}

/// The database refuses the event of one key and accepts those of the others, for each of two keys.
async fn no_key_of_a_batch_is_revoked_without_its_event(database: Database) {
    let scene = Scene::new(database).await;
    let before = rows(&scene.database).await;
    for key in [scene.key, scene.child] {
        let refused = format!(
            "NEW.action = 'api_key.revoke' AND NEW.subject_id = {}",
            scene.database.id(key.as_uuid())
        );
        scene.database.refuse_events(&refused).await;
        for change in [
            Change::RevokeKeyWithDescendants,
            Change::RevokeKeysAsOwner,
            Change::RevokeKeysOfConsumer,
        ] {
            assert_refused(scene.attempt(change).await, &format!("{change:?}"));
            assert_unchanged(&scene.database, &before, &format!("{change:?}")).await;
        }
    }
}

async fn repaired_audit_log_accepts_changes_again(database: Database) {
    let scene = Scene::new(database).await;
    scene.database.refuse_events("1 = 1").await;
    assert_refused(scene.attempt(Change::CreateKey).await, "a key");
    scene.database.mend_log().await;
    scene.attempt(Change::CreateKey).await.expect("a mended log");
}

fn of_action(action: Action) -> String {
    format!("NEW.action = '{}'", action.as_str())
}

/// The attempt failed because the database refused the event.
#[track_caller]
fn assert_refused(attempt: Attempt, change: &str) {
    let error = attempt.expect_err(change);
    assert_eq!(error.to_string(), "storage failed", "{change}");
    let cause = error.source().expect("a cause").to_string();
    assert!(cause.contains("disk on fire"), "{change}: {cause}");
}

/// No row was removed, added or changed.
async fn assert_unchanged(database: &Database, before: &[String], change: &str) {
    let after = rows(database).await;
    let without = |rows: &[String], others: &[String]| -> Vec<String> {
        rows.iter().filter(|row| !others.contains(row)).cloned().collect()
    };
    let (gone, new) = (without(before, &after), without(&after, before));
    assert!(
        gone.is_empty() && new.is_empty(),
        "{change}: {gone:#?} became {new:#?}"
    );
    assert_eq!(after.len(), before.len(), "{change}");
}

/// All rows except those of the sign-in throttle, which also counts attempts that fail.
async fn rows(database: &Database) -> Vec<String> {
    let mut rows = database.rows().await;
    rows.retain(|row| !row.starts_with("{\"sign_in_throttle\""));
    rows
}
