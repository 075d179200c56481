//! Cases of [`RetentionStore::remove_dead_keys`](crate::retention::ports::RetentionStore::remove_dead_keys):
//! ends that lie ahead.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{ALL, MILLISECOND};
use crate::audit::Actor;

pub(super) async fn expired_key_is_kept_until_its_end_is_recorded(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "planned").await;
    let end = scene.now() + TimeDelta::days(1);
    let planned = scene.plan_revocation(&key, end).await;

    assert_eq!(scene.remove_dead_keys(ALL).await, 0);
    assert_eq!(scene.remove_keys_dead_before(end, ALL).await, 0);
    assert_eq!(scene.stored(&key).await, planned);
    // If it were purged, its end would never be in the audit log.
    let long_after = scene.later(TimeDelta::days(100));
    assert_eq!(scene.remove_keys_dead_before(long_after, ALL).await, 0);
    assert_eq!(scene.stored(&key).await, planned);

    let act = scene.act_as(Actor::System, None);
    let recorded = scene.stores.planned_ends.record_ends_of_keys(ALL, act).await;
    assert_eq!(recorded.expect("the store answers"), 1);
    assert_eq!(scene.remove_keys_dead_before(end, ALL).await, 0);
    assert_eq!(scene.remove_keys_dead_before(end + MILLISECOND, ALL).await, 1);
    assert!(!scene.is_stored(&key).await);
}

pub(super) async fn keys_are_kept_until_their_memberships_end_is_recorded(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let [key, planned] = [
        scene.add_key(&bob, "key").await,
        scene.add_key(&bob, "planned for later").await,
    ];
    let end = scene.now() + TimeDelta::days(1);
    scene.plan_end_of_membership(&bob, end).await;
    scene.plan_revocation(&planned, end + TimeDelta::days(1)).await;

    // If they were purged, their ends would never be in the audit log.
    let long_after = scene.later(TimeDelta::days(100));
    assert_eq!(scene.remove_keys_dead_before(long_after, ALL).await, 0);
    assert!(scene.is_stored(&key).await);

    let act = scene.act_as(Actor::System, None);
    let recorded = scene
        .stores
        .planned_ends
        .record_ends_of_memberships(ALL, act)
        .await;
    assert_eq!(recorded.expect("the store answers"), 1);
    assert_eq!(scene.remove_keys_dead_before(end, ALL).await, 0);
    assert_eq!(scene.remove_keys_dead_before(end + MILLISECOND, ALL).await, 2);
    assert_eq!(scene.kept(&[key, planned]).await, []);
}
