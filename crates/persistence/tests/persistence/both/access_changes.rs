//! Changes of what keys may do or reach are numbered, and replicas acknowledge them.

use chrono::TimeDelta;
use keyward_domain::access_changes::{ChangeNumber, Concern, LOGGED_CHANGES, PolledChanges, ReplicaId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::both::changes::Change;
use crate::both::scene::Scene;
use crate::database::{Database, Store};

on_both!(
    change_of_access_raises_the_counter,
    many_keys_of_a_consumer_are_logged_as_that_consumer,
    other_change_leaves_the_counter,
    refused_change_leaves_the_counter,
    replica_reads_the_changes_after_its_own_number,
    registered_replica_has_seen_all_earlier_changes,
    replica_that_acknowledged_is_not_struck_off,
    unknown_replica_cannot_acknowledge,
    log_keeps_a_bounded_number_of_changes,
    missing_counter_is_an_error,
);

const REPLICA: ReplicaId = ReplicaId::from_uuid(Uuid::from_u128(7));

async fn another(database: &Database) -> Database {
    if database.is_postgres() {
        Database::postgres().await
    } else {
        Database::sqlite().await
    }
}

/// The changes after the first number of a new database.
async fn changes(store: &dyn Store) -> Vec<Concern> {
    let polled = store.poll(REPLICA, Some(number(0))).await.expect("an answer");
    polled.changes_after(number(0)).expect("no gap")
}

const fn number(number: u64) -> ChangeNumber {
    ChangeNumber::from_u64(number)
}

async fn change_of_access_raises_the_counter(database: Database) {
    for change in [
        Change::MakeOwner,
        Change::MakeMember,
        Change::RemoveMember,
        Change::RemoveOwner,
        Change::LeaveOrganization,
        Change::ArchiveProject,
        Change::RestoreProject,
        Change::RenameProject,
        Change::AddProjectMember,
        Change::RemoveProjectMember,
        Change::RevokeKey,
        Change::RevokeKeyWithDescendants,
        Change::RevokeKeysAsOwner,
        Change::RevokeKeysOfConsumer,
        Change::RevokeKeysIssuedBefore,
        Change::ApplyLongestLife,
        Change::RecordEndOfKey,
        Change::RecordEndOfMembership,
    ] {
        let scene = Scene::new(another(&database).await).await;
        let store = scene.database.store.as_ref();
        let before = changes(store).await;
        scene
            .attempt(change)
            .await
            .unwrap_or_else(|error| panic!("{change:?}: {error}"));
        let after = changes(store).await;
        assert!(after.len() > before.len(), "{change:?}");
        let (bob, carol) = (scene.bob.membership.id, scene.carol.membership.id);
        let expected = match change {
            Change::RevokeKey => vec![Concern::ApiKey(scene.key)],
            Change::RevokeKeyWithDescendants => {
                vec![Concern::ApiKey(scene.key), Concern::ApiKey(scene.child)]
            }
            Change::RemoveMember | Change::LeaveOrganization | Change::MakeOwner => {
                vec![Concern::Consumer(bob)]
            }
            Change::RemoveOwner | Change::MakeMember => vec![Concern::Consumer(carol)],
            Change::ArchiveProject | Change::RestoreProject | Change::RenameProject => {
                vec![Concern::Organization(scene.ada.organization.id)]
            }
            _ => continue,
        };
        let new = &after[before.len()..];
        assert!(
            expected.iter().all(|concern| new.contains(concern)),
            "{change:?}: {new:?}"
        );
    }
}

async fn many_keys_of_a_consumer_are_logged_as_that_consumer(database: Database) {
    let scene = Scene::new(database).await;
    for _ in 0..65 {
        scene.make.clock.advance(TimeDelta::minutes(1));
        scene.issue_with(scene.child).await;
    }
    let before = changes(scene.database.store.as_ref()).await.len();
    assert_eq!(scene.revoke_all(scene.key).await.len(), 67);
    let after = changes(scene.database.store.as_ref()).await;
    assert_eq!(after[before..], [Concern::Consumer(scene.bob.membership.id)]);
}

async fn other_change_leaves_the_counter(database: Database) {
    let scene = Scene::new(database).await;
    let before = changes(scene.database.store.as_ref()).await;
    for change in [
        Change::CreateUser,
        Change::Invite,
        Change::RevokeInvitation,
        Change::CreateProject,
        Change::CreateKey,
        Change::EditKey,
        Change::SignIn,
        Change::UseRevokedKey,
    ] {
        scene
            .attempt(change)
            .await
            .unwrap_or_else(|error| panic!("{change:?}: {error}"));
        assert_eq!(changes(scene.database.store.as_ref()).await, before, "{change:?}");
    }
}

async fn refused_change_leaves_the_counter(database: Database) {
    let scene = Scene::new(database).await;
    let before = changes(scene.database.store.as_ref()).await;
    scene
        .database
        .refuse_events("NEW.action = 'membership.remove'")
        .await;
    assert!(scene.attempt(Change::RemoveMember).await.is_err());
    assert_eq!(changes(scene.database.store.as_ref()).await, before);
}

async fn replica_reads_the_changes_after_its_own_number(database: Database) {
    let scene = Scene::new(database).await;
    let store = &scene.database.store;
    let counter = store.register(REPLICA, "one").await.expect("a number");
    scene.attempt(Change::RevokeKey).await.expect("a revocation");
    let polled = store.poll(REPLICA, Some(counter)).await.expect("an answer");
    let next = number(counter.as_u64() + 1);
    let expected = PolledChanges {
        counter: next,
        acknowledged: Some(counter),
        changes: vec![(next, Concern::ApiKey(scene.key))],
    };
    assert_eq!(polled, expected);

    assert!(store.acknowledge(REPLICA, next).await.expect("an answer"));
    let expected = PolledChanges {
        counter: next,
        acknowledged: Some(next),
        changes: Vec::new(),
    };
    assert_eq!(
        store.poll(REPLICA, Some(next)).await.expect("an answer"),
        expected
    );
    assert_eq!(store.poll(REPLICA, None).await.expect("an answer"), expected);
}

async fn registered_replica_has_seen_all_earlier_changes(database: Database) {
    let scene = Scene::new(database).await;
    let store = &scene.database.store;
    store.register(REPLICA, "one").await.expect("a number");
    scene.attempt(Change::RevokeKey).await.expect("a revocation");
    let counter = store.register(REPLICA, "two").await.expect("a number");
    let registered = store.replicas().await.expect("an answer");
    assert_eq!(registered.counter, counter);
    let [replica] = registered.replicas.as_slice() else {
        panic!("{registered:?}");
    };
    assert_eq!(
        (replica.id, replica.name.as_str(), replica.acknowledged),
        (REPLICA, "two", counter)
    );
    store.leave(REPLICA).await.expect("an answer");
    assert_eq!(store.replicas().await.expect("an answer").replicas, []);
}

async fn replica_that_acknowledged_is_not_struck_off(database: Database) {
    let scene = Scene::new(database).await;
    let store = &scene.database.store;
    let counter = store.register(REPLICA, "one").await.expect("a number");
    store.strike_off(REPLICA, counter).await.expect("an answer");
    assert_eq!(store.replicas().await.expect("an answer").replicas.len(), 1);
    let next = number(counter.as_u64() + 1);
    store.strike_off(REPLICA, next).await.expect("an answer");
    assert_eq!(store.replicas().await.expect("an answer").replicas, []);
}

async fn unknown_replica_cannot_acknowledge(database: Database) {
    assert!(
        !database
            .store
            .acknowledge(REPLICA, number(1))
            .await
            .expect("an answer")
    );
    let polled = database.store.poll(REPLICA, None).await.expect("an answer");
    assert_eq!((polled.counter, polled.acknowledged), (number(0), None));
}

async fn log_keeps_a_bounded_number_of_changes(database: Database) {
    let kept = LOGGED_CHANGES.get();
    let scene = Scene::new(database).await;
    for sql in [
        format!("UPDATE access_counter SET number = {}", 2 * kept),
        format!(
            "WITH RECURSIVE all_numbers (number) AS (
                 SELECT 1 UNION ALL SELECT number + 1 FROM all_numbers WHERE number < {}
             ) INSERT INTO access_changes (number, concerns_kind) SELECT number, 'everyone' FROM all_numbers
                 WHERE NOT EXISTS (SELECT 1 FROM access_changes logged WHERE logged.number = all_numbers.number)",
            2 * kept
        ),
    ] {
        scene.database.execute(&sql).await;
    }
    scene.attempt(Change::RevokeKey).await.expect("a revocation");
    let polled = scene
        .database
        .store
        .poll(REPLICA, Some(number(0)))
        .await
        .expect("an answer");
    assert_eq!(polled.counter, number(2 * kept + 1));
    assert_eq!(polled.changes.len() as u64, kept);
    assert_eq!(polled.changes_after(number(kept)), None);
    assert!(polled.changes_after(number(kept + 1)).is_some());
}

async fn missing_counter_is_an_error(database: Database) {
    database.store.register(REPLICA, "one").await.expect("a number");
    database.execute("DELETE FROM access_counter").await;
    let polled = database.store.poll(REPLICA, Some(number(0))).await;
    assert!(matches!(polled, Err(StorageError::Defect(_))));
    let replicas = database.store.replicas().await;
    assert!(matches!(replicas, Err(StorageError::Defect(_))));
    let registered = database.store.register(REPLICA, "one").await;
    assert!(matches!(registered, Err(StorageError::Defect(_))));
}
