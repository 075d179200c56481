//! Which transactions wait for which locks.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use futures_util::future::{join, join_all};
use keyward_domain::administration::ports::{KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::{
    Expiry, ExpiryChange, KeyDraft, KeyEdit, KeyName, KeyPrecondition, RevocationReason,
};
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::clock::Clock;
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{ChosenKey, IdempotencyKey};
use keyward_domain::ports::{ApiKeys, DescendantKeys, KeyLimit, KeyLimits, RotationDraft};
use keyward_domain::retention::SurplusKeys;
use tokio::time::timeout;

use crate::both::scene::{Scene, issue, member};
use crate::database::Database;

const WAITS_FOR_LOCK: &str =
    "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

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
    let revoked = revoked.expect("no wait for a lock");
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
    let held = scene.database.lock_changes_of(consumer).await;
    assert_eq!(remove_dead_keys(&scene).await, 0);
    held.release().await;
    assert_ne!(remove_dead_keys(&scene).await, 0);
    let left = scene
        .database
        .count(&format!("api_keys WHERE consumer_id = '{consumer}'"))
        .await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn retention_purges_only_keys_without_a_lock() {
    for held_row in ["dead key", "its child", "its consumer"] {
        let scene = Scene::new(Database::postgres().await).await;
        let (bob, carol) = (scene.bob.as_holder(), scene.carol.as_holder());
        let child = scene.issue_with(scene.child).await;
        let of_another = issue(&scene.use_cases, &carol, "revoked").await.key.id;
        revoke_alone(&scene, &bob, scene.child).await;
        revoke_alone(&scene, &carol, of_another).await;
        scene.make.clock.advance(TimeDelta::days(1));
        let held = match held_row {
            "dead key" => scene.database.lock_row("api_keys", scene.child.as_uuid()).await,
            "its child" => scene.database.lock_row("api_keys", child.as_uuid()).await,
            _ => scene.database.lock_changes_of(bob.consumer().id.as_uuid()).await,
        };
        assert_eq!(
            remove_dead_keys(&scene).await,
            1,
            "the other member's key: {held_row}"
        );
        let left = format!("api_keys WHERE id = '{}'", scene.child);
        assert_eq!(scene.database.count(&left).await, 1, "{held_row}");
        held.release().await;
        assert_eq!(remove_dead_keys(&scene).await, 1, "{held_row}");
        assert_eq!(scene.database.count(&left).await, 0, "{held_row}");
    }
}

#[tokio::test]
async fn retention_purges_only_surplus_keys_without_a_lock() {
    for (held_row, removed_meanwhile) in [("surplus key", 1), ("its child", 1), ("its consumer", 0)] {
        let scene = Scene::new(Database::postgres().await).await;
        let bob = scene.bob.as_holder();
        let child = scene.issue_with(scene.child).await;
        let other = scene.issue_with(scene.key).await;
        for key in [scene.child, other] {
            revoke_alone(&scene, &bob, key).await;
        }
        scene.make.clock.advance(TimeDelta::days(1));
        let held = match held_row {
            "surplus key" => scene.database.lock_row("api_keys", scene.child.as_uuid()).await,
            "its child" => scene.database.lock_row("api_keys", child.as_uuid()).await,
            _ => scene.database.lock_changes_of(bob.consumer().id.as_uuid()).await,
        };
        assert_eq!(remove_surplus_keys(&scene).await, removed_meanwhile, "{held_row}");
        let left = format!("api_keys WHERE id = '{}'", scene.child);
        assert_eq!(scene.database.count(&left).await, 1, "{held_row}");
        held.release().await;
        assert_eq!(
            remove_surplus_keys(&scene).await,
            2 - removed_meanwhile,
            "{held_row}"
        );
        assert_eq!(scene.database.count(&left).await, 0, "{held_row}");
    }
}

#[tokio::test]
async fn retention_of_surplus_keys_waits_for_its_turn() {
    let scene = Scene::new(Database::postgres().await).await;
    let bob = scene.bob.as_holder();
    revoke_alone(&scene, &bob, scene.child).await;
    scene.make.clock.advance(TimeDelta::days(1));
    let (consumer, revoked) = (bob.consumer().id, scene.child);
    let url = scene.database.url().expect("a server");
    // Clients without pause repeat a revocation, which no limit of changes counts, each at a replica of its own.
    let is_over = AtomicBool::new(false);
    let again = async || {
        let replica = scene.database.store_at(url);
        while !is_over.load(Ordering::Relaxed) {
            let (keep, any) = (DescendantKeys::Keep, KeyPrecondition::AnyVersion);
            let (reason, act) = (RevocationReason::Holder, scene.make.act(bob.as_actor()));
            let revoking = ApiKeys::revoke(&*replica, consumer, revoked, reason.into(), keep, any, act);
            // In the last round, the key no longer exists.
            if revoking.await.is_err() {
                break;
            }
        }
    };
    let clients = join_all((0..20).map(|_| again()));
    let removing = async {
        while scene.database.count(WAITS_FOR_LOCK).await < 10 {}
        let removed = remove_surplus_keys(&scene).await;
        is_over.store(true, Ordering::Relaxed);
        removed
    };
    let (_, removed) = join(clients, removing).await;
    assert_eq!(removed, 1);
}

#[tokio::test]
async fn successor_made_during_retention_stays_in_its_key_tree() {
    let scene = Scene::new(Database::postgres().await).await;
    let (bob, keys) = (scene.bob.as_holder(), scene.use_cases.keys.clone());
    let (rotation, source) = (RotationDraft::default(), RequestSource::default());
    let chosen = ChosenKey::parse("retry").expect("a key");
    let draft = KeyDraft::named(KeyName::parse("of the day before").expect("a name"));
    let first = Some(chosen.for_request(draft.request_digest()));
    let first = keys.issue(&bob, draft, first, source.clone()).await;
    let first = first.expect("a key").key.id;
    // Later, so that the first key is locked before it.
    let key = scene.issue_with(scene.child).await;
    let again = Some(chosen.for_request(rotation.request_digest(key)));
    revoke_alone(&scene, &bob, scene.child).await;
    scene.make.clock.advance(IdempotencyKey::REMEMBERED);

    // The rotation has read the place of the key in its tree, and waits to clear the idempotency key of the
    // first key.
    let held = scene.database.lock_row("api_keys", first.as_uuid()).await;
    let rotating = tokio::spawn(async move { keys.rotate(&bob, key, rotation, again, source).await });
    while scene.database.count(WAITS_FOR_LOCK).await == 0 {
        assert!(!rotating.is_finished(), "it waits for the first key");
    }
    assert_eq!(remove_dead_keys(&scene).await, 0);
    held.release().await;
    let successor = rotating.await.expect("no panic").expect("a rotation").key.id;
    assert_eq!(remove_dead_keys(&scene).await, 1);
    let below_the_root = format!(
        "api_keys WHERE id IN ('{key}', '{successor}') AND adoptive_parent_key_id = '{}'",
        scene.key
    );
    assert_eq!(scene.database.count(&below_the_root).await, 2);
}

#[tokio::test]
async fn revocation_locks_valid_and_due_keys_in_one_order() {
    for by_owner in [false, true] {
        let scene = Scene::new(Database::postgres().await).await;
        let (ada, bob) = (scene.ada.user.id, scene.bob.as_holder());
        let (keys, key, child) = (scene.use_cases.keys.clone(), scene.key, scene.child);
        let now = scene.make.clock.now();
        let in_an_hour = Expiry::new(now + TimeDelta::hours(1), now).expect("a time ahead");
        let edit = KeyEdit {
            expiry: Some(ExpiryChange::Set(in_an_hour)),
            ..KeyEdit::default()
        };
        let (any, source) = (KeyPrecondition::AnyVersion, RequestSource::default());
        let edited = keys.edit(&bob, child, edit, any, source.clone()).await;
        edited.expect("the child ends before the key that is older");
        scene.make.clock.advance(TimeDelta::hours(1));

        let held = scene.database.lock_row("api_keys", key.as_uuid()).await;
        let (store, organization) = (Arc::clone(&scene.database.store), scene.ada.organization.id);
        let act = scene.make.act(Actor::User(ada));
        let revoking = tokio::spawn(async move {
            let descendants = DescendantKeys::Revoke;
            if !by_owner {
                let any = KeyPrecondition::AnyVersion;
                return keys.revoke(&bob, key, descendants, any, source).await.ok();
            }
            let ids = vec![key];
            let (selection, reason) = (KeySelection::Keys { ids, descendants }, RevocationReason::Owner);
            let store: &dyn OrganizationKeyStore = &*store;
            let revoking = store.revoke(organization, selection, NonZeroU32::MAX, reason, None, act);
            revoking.await.ok().map(|batch| batch.keys)
        });
        while scene.database.count(WAITS_FOR_LOCK).await == 0 {
            assert!(!revoking.is_finished(), "it waits for the older key");
        }
        let child_is_free = format!("SELECT 1 FROM api_keys WHERE id = '{child}' FOR UPDATE NOWAIT");
        scene.database.execute(&child_is_free).await;
        held.release().await;
        assert_eq!(revoking.await.expect("no panic"), Some(vec![key]));
        let recorded = format!("api_keys WHERE id = '{child}' AND end_came_at IS NOT NULL");
        assert_eq!(scene.database.count(&recorded).await, 1);
    }
}

#[tokio::test]
async fn key_that_ended_before_the_lock_does_not_count() {
    let scene = Scene::new(Database::postgres().await).await;
    let (bob, now) = (scene.bob.as_holder(), scene.make.clock.now());
    let in_an_hour = Expiry::new(now + TimeDelta::hours(1), now).expect("a time ahead");
    let edit = KeyEdit {
        expiry: Some(ExpiryChange::Set(in_an_hour)),
        ..KeyEdit::default()
    };
    let (keys, any) = (&scene.use_cases.keys, KeyPrecondition::AnyVersion);
    let edited = keys.edit(&bob, scene.child, edit, any, RequestSource::default());
    edited.await.expect("a planned end");

    let ((new, _), act) = (scene.make.new_key(&bob, "next"), scene.make.act_of(&bob));
    let limits = KeyLimits {
        valid: KeyLimit(2),
        ..KeyLimits::default()
    };
    // Since the act began, it has waited for the lock.
    scene.make.clock.advance(TimeDelta::hours(1));
    let added = ApiKeys::add(&*scene.database.store, new, limits, act).await;
    added.expect("one of two keys is over");
}

#[tokio::test]
async fn due_keys_of_a_locked_consumer_delay_no_others() {
    let scene = Scene::new(Database::postgres().await).await;
    let (bob, carol) = (scene.bob.membership.id, scene.carol.as_holder());
    let of_another = issue(&scene.use_cases, &carol, "due").await.key.id;
    let due = |keys: &str, end: &str| {
        format!(
            "UPDATE api_keys SET revoked_at = created_at + interval '{end}', revoked_by_kind = 'administrator',
                 revoked_reason = 'administrator'
             WHERE {keys}"
        )
    };
    let of_bob = format!("consumer_id = '{bob}'");
    scene.database.execute(&due(&of_bob, "1 ms")).await;
    let of_bob = scene.database.count(&format!("api_keys WHERE {of_bob}")).await;
    let of_another = format!("id = '{of_another}'");
    scene.database.execute(&due(&of_another, "1 hour")).await;
    scene.make.clock.advance(TimeDelta::days(1));

    let held = scene.database.lock_changes_of(bob.as_uuid()).await;
    let record = async || {
        let act = scene.make.act(Actor::System);
        let recorded = scene.database.store.record_ends_of_keys(2, act).await;
        i64::from(recorded.expect("recorded"))
    };
    assert!(of_bob >= 2);
    assert_eq!(record().await, 1, "the later one");
    let recorded = format!("api_keys WHERE {of_another} AND end_came_at IS NOT NULL");
    assert_eq!(scene.database.count(&recorded).await, 1);
    held.release().await;
    assert_eq!(record().await, 2);
}

/// Purges without waiting for a lock.
async fn remove_dead_keys(scene: &Scene) -> u32 {
    let removing = scene.database.store.remove_dead_keys(scene.make.clock.now(), 500);
    let removed = timeout(Duration::from_secs(10), removing).await;
    removed.expect("no wait for a lock").expect("a removal")
}

/// Purges all of Bob's ended keys without waiting long for a lock.
async fn remove_surplus_keys(scene: &Scene) -> u32 {
    let surplus = SurplusKeys {
        consumer: scene.bob.membership.id,
        kept: 0,
        before: scene.make.clock.now(),
    };
    let removing = scene.database.store.remove_surplus_keys(surplus, 500);
    let removed = timeout(Duration::from_secs(10), removing).await;
    removed.expect("no long wait for a lock").expect("a removal")
}

/// Revokes a key without its descendants.
async fn revoke_alone(scene: &Scene, holder: &Holder, key: ApiKeyId) {
    let (keep, any) = (DescendantKeys::Keep, KeyPrecondition::AnyVersion);
    let revoking = scene
        .use_cases
        .keys
        .revoke(holder, key, keep, any, RequestSource::default());
    assert_eq!(revoking.await.expect("a revocation"), [key]);
}
