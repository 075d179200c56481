//! Who waits for whom.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use keyward_domain::administration::ports::{KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::clock::Clock;
use keyward_domain::ports::DescendantKeys;
use tokio::time::timeout;

use crate::both::scene::{Scene, issue, member};
use crate::database::Database;

#[tokio::test]
async fn owner_locks_no_consumer_of_another_organization() {
    let scene = Scene::new(Database::postgres().await).await;
    let foreign = member(&scene.database, "dave", &scene.elsewhere).await;
    let consumer = foreign.membership.id;
    let _held = scene.database.lock_changes_of(consumer.as_uuid()).await;
    let store: &dyn OrganizationKeyStore = &*scene.database.store;
    let revoking = store.revoke(
        scene.ada.organization.id,
        KeySelection::OfConsumer(consumer),
        NonZeroU32::MIN,
        RevocationReason::Owner,
        None,
        scene.make.act(Actor::User(scene.ada.user.id)),
    );
    let revoked = timeout(Duration::from_secs(10), revoking).await;
    let revoked = revoked.expect("nobody is waited for");
    assert_eq!(revoked.expect("an answer").keys, []);
}

#[tokio::test]
async fn retention_skips_locked_former_members() {
    let scene = Scene::new(Database::postgres().await).await;
    let consumer = scene.bob.membership.id.as_uuid();
    let ended = format!(
        "UPDATE memberships SET ended_at = joined_at, end_came_at = joined_at WHERE id = '{consumer}'"
    );
    scene.database.execute(&ended).await;
    scene.make.clock.advance(TimeDelta::days(1));
    let remove = async || {
        let removing = scene.database.store.remove_dead_keys(scene.make.clock.now(), 500);
        let removed = timeout(Duration::from_secs(10), removing).await;
        removed.expect("nobody is waited for").expect("a removal")
    };
    let held = scene.database.lock_changes_of(consumer).await;
    assert_eq!(remove().await, 0);
    drop(held);
    let mut removed = 0;
    while removed == 0 {
        // The lock ends with its connection, a moment later.
        drop(scene.database.lock_changes_of(consumer).await);
        removed = remove().await;
    }
    let left = scene
        .database
        .count(&format!("api_keys WHERE consumer_id = '{consumer}'"))
        .await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn retention_waiting_for_one_key_locks_no_other_member() {
    let scene = Scene::new(Database::postgres().await).await;
    let former = scene.bob.membership.id.as_uuid();
    let ended = format!("UPDATE memberships SET ended_at = joined_at WHERE id = '{former}'");
    scene.database.execute(&ended).await;
    let carol = scene.carol.as_holder();
    let key = issue(&scene.use_cases, &carol, "revoked").await.key.id;
    let (keep, any) = (DescendantKeys::Keep, KeyPrecondition::AnyVersion);
    let revoked = scene
        .use_cases
        .keys
        .revoke(&carol, key, keep, any, RequestSource::default())
        .await;
    assert_eq!(revoked.expect("a revocation"), [key]);
    scene.make.clock.advance(TimeDelta::days(1));

    let held = scene.database.lock_row("api_keys", key.as_uuid()).await;
    let (store, now) = (Arc::clone(&scene.database.store), scene.make.clock.now());
    let removing = tokio::spawn(async move { store.remove_dead_keys(now, 500).await });
    let waiting = "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while scene.database.count(waiting).await == 0 {
        assert!(!removing.is_finished(), "it waits for the key");
    }
    let member = timeout(Duration::from_secs(10), scene.database.lock_changes_of(former)).await;
    assert!(member.is_ok(), "the former member is held");
    drop((held, member));
    assert_eq!(removing.await.expect("no panic").expect("a removal"), 1);
}
