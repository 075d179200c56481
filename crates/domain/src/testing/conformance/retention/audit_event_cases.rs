//! Cases of removing audit events.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::scene::{Scene, ids_of};
use super::scene::{ALL, MILLISECOND};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::OrganizationId;
use crate::retention::ports::RetentionError;

pub(super) async fn events_past_retention_are_removed_with_a_removal_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = Some(ada.organization.id);
    let key = scene.add_key(&ada, "kept").await;
    let moment = scene.now();
    record(&scene, None).await;
    let at_the_moment = scene.later(MILLISECOND);
    let young = record(&scene, here).await;
    let young_of_none = record(&scene, None).await;

    let (removed, removal) = remove(&scene, at_the_moment, ALL).await;
    assert_eq!(removed.expect("events are removed"), 2);
    assert_eq!(ids_of(&scene.events(here).await), [young.id]);
    let of_none = scene.events(None).await;
    assert_eq!(ids_of(&of_none), [removal.id, young_of_none.id]);
    assert_eq!(scene.stored(&key).await, key, "nothing but events goes");
    let (removed, _) = remove(&scene, moment, ALL).await;
    assert_eq!(removed.expect("there is nothing to remove"), 0);
}

pub(super) async fn removing_no_events_writes_no_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let begun = scene.now();
    scene.add_key(&ada, "kept").await;
    let before = scene.events(Some(ada.organization.id)).await;
    let (removed, _) = remove(&scene, begun, ALL).await;

    assert_eq!(removed.expect("there is nothing to remove"), 0);
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);
    assert_eq!(scene.events(None).await, []);
}

pub(super) async fn removal_without_an_event_records_none(stores: Stores) {
    let (scene, _) = Scene::with_owner(stores).await;
    record(&scene, None).await;
    let now = scene.later(TimeDelta::days(1));
    let removed = scene.stores.retention.remove_audit_events(now, ALL, None).await;
    assert!(removed.expect("events are removed") > 0);
    assert_eq!(scene.events(None).await, []);
}

pub(super) async fn oldest_events_are_removed_first_up_to_the_limit(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = Some(ada.organization.id);
    let mut recorded = Vec::new();
    for _ in 0..7 {
        scene.later(MILLISECOND);
        recorded.push(record(&scene, here).await);
    }
    recorded.reverse();
    let now = scene.later(TimeDelta::days(1));

    for (asked, left) in [(3, 4), (2, 2), (1, 1)] {
        let (removed, _) = remove(&scene, now, asked).await;
        assert_eq!(removed.expect("events are removed"), asked);
        assert_eq!(ids_of(&scene.events(here).await), ids_of(&recorded[..left]));
    }
    let (removed, _) = remove(&scene, now, 3).await;
    assert_eq!(removed.expect("the last one is removed"), 1);
    assert_eq!(scene.events(here).await, []);
    assert_eq!(scene.events(None).await.len(), 4, "each removal is an event");
}

pub(super) async fn events_are_kept_when_removal_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = Some(ada.organization.id);
    scene.add_key(&ada, "kept").await;
    let recorded = scene.events(here).await;
    let now = scene.later(TimeDelta::days(1));
    let event = scene.unwritable(removal(&scene)).await;
    let refused = scene
        .stores
        .retention
        .remove_audit_events(now, ALL, Some(event))
        .await;

    assert!(matches!(refused, Err(RetentionError::Storage(_))), "{refused:?}");
    assert_eq!(scene.events(here).await, recorded);
}

async fn record(scene: &Scene<Stores>, organization: Option<OrganizationId>) -> AuditEvent {
    let act = scene.act_as(Actor::Anonymous, organization);
    let event = act.refusal(Action::SignIn, Subject::Installation);
    let recorded = scene.stores.keys.audit_log.record(event.clone()).await;
    recorded.expect("an event is recorded");
    event
}

fn removal(scene: &Scene<Stores>) -> AuditEvent {
    let act = scene.act_as(Actor::System, None);
    act.event(Action::RemoveAuditEvents, Subject::Installation)
}

/// How many events it removed, and the event of that.
async fn remove(
    scene: &Scene<Stores>,
    before: DateTime<Utc>,
    at_most: u32,
) -> (Result<u32, RetentionError>, AuditEvent) {
    let event = removal(scene);
    let retention = &scene.stores.retention;
    let removed = retention
        .remove_audit_events(before, at_most, Some(event.clone()))
        .await;
    (removed, event)
}
