//! Cases of [`AuditFeed`](crate::ports::AuditFeed), the audit log in the order of commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::{Scene, ids_of};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::{AuditEventId, OrganizationId};
use crate::page::PageSize;
use crate::ports::{AuditLogId, FeedPage, FeedPosition, ReadFeedError};

/// More than any case removes at once.
const ALL: u32 = 1_000;
const WRITERS: usize = 16;
const EVENTS_OF_EACH: usize = 20;

pub(super) async fn events_of_all_logs_are_read_in_commit_order(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let begun = last_position(&scene).await;
    let mut recorded = Vec::new();
    for organization in [Some(ada.organization.id), None, Some(scene.id())] {
        recorded.push(record(&scene, organization).await);
        // The time of an event does not matter.
        scene.make.clock.advance(TimeDelta::days(-1));
    }
    let page = read(&scene, begun, PageSize::DEFAULT).await;
    let read: Vec<AuditEvent> = page.entries.iter().map(|(_, event)| event.clone()).collect();
    let numbers: Vec<u64> = page.entries.iter().map(|(position, _)| position.number).collect();
    assert!(
        numbers.is_sorted_by(|earlier, later| earlier < later),
        "{numbers:?}"
    );
    for (position, event) in &page.entries {
        assert_eq!(position.event, event.id);
        assert_eq!(position.log, page.entries[0].0.log);
    }
    assert_eq!(
        last_position(&scene).await,
        page.entries.last().map(|last| last.0)
    );
    assert_eq!(read, scene.all_as_shown(recorded).await);
}

pub(super) async fn continued_reading_neither_misses_nor_repeats_events(stores: Stores) {
    let (scene, _) = Scene::with_owner(stores).await;
    for _ in 0..7 {
        record(&scene, None).await;
    }
    let all = read(&scene, None, PageSize::EXPORT).await.entries;
    assert!(all.len() >= 7);
    for size in [1, 2, 3, 7, 100] {
        let size = PageSize::new(size).expect("a page size");
        let mut found = Vec::new();
        loop {
            let after = found.last().map(|(position, _)| *position);
            let page = read(&scene, after, size).await;
            assert_eq!(page.after, after.map_or(0, |after| after.number));
            if page.entries.is_empty() {
                break;
            }
            assert!(page.entries.len() <= size.items());
            found.extend(page.entries);
            assert!(found.len() <= all.len(), "no event is read twice");
        }
        assert_eq!(found, all);
    }
}

pub(super) async fn positions_remain_valid_and_unique_after_event_removal(stores: Stores) {
    let (scene, _) = Scene::with_owner(stores).await;
    let removed: Vec<FeedPosition> = {
        record(&scene, None).await;
        record(&scene, None).await;
        let all = read(&scene, None, PageSize::EXPORT).await;
        assert_eq!(all.removed_through, 0);
        all.entries.into_iter().map(|(position, _)| position).collect()
    };
    let last = *removed.last().expect("an event");
    let now = scene.later(TimeDelta::days(1));
    let gone = scene.stores.retention.remove_audit_events(now, ALL, None).await;
    assert!(gone.expect("events are removed") >= 2);
    assert_eq!(last_position(&scene).await, None);

    let young = record(&scene, None).await;
    for position in removed {
        let page = read(&scene, Some(position), PageSize::DEFAULT).await;
        assert_eq!(ids(&page), [young.id]);
        assert_eq!(page.after, position.number);
        assert_eq!(page.removed_through, last.number);
        assert!(page.entries[0].0.number > last.number);
    }
}

pub(super) async fn unknown_positions_are_refused(stores: Stores) {
    let (scene, _) = Scene::with_owner(stores).await;
    record(&scene, None).await;
    let known = last_position(&scene).await.expect("an event");
    let unknown = scene.id();
    for position in [
        // Of a backup's log, which went on differently after it was restored.
        FeedPosition {
            event: unknown,
            ..known
        },
        // Of a backup's log, which went further before.
        FeedPosition {
            event: unknown,
            number: known.number + 100,
            ..known
        },
        FeedPosition {
            event: unknown,
            number: 0,
            log: AuditLogId(!known.log.0),
        },
    ] {
        let refused = scene
            .stores
            .audit_feed
            .events_after(Some(position), PageSize::ONE)
            .await;
        assert!(
            matches!(&refused, Err(ReadFeedError::UnknownPosition(said)) if *said == position),
            "{refused:?}"
        );
    }
}

pub(super) async fn positions_are_found_by_event_after_import(stores: Stores) {
    let (scene, _) = Scene::with_owner(stores).await;
    record(&scene, None).await;
    let known = last_position(&scene).await.expect("an event");
    let later = record(&scene, None).await;
    let elsewhere = FeedPosition {
        number: known.number + 1_000,
        log: AuditLogId(!known.log.0),
        ..known
    };
    let page = read(&scene, Some(elsewhere), PageSize::DEFAULT).await;
    assert_eq!(ids(&page), [later.id]);
    assert_eq!(page.after, known.number);
}

pub(super) async fn feed_misses_no_event_of_concurrent_writers(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let begun = last_position(&scene).await;
    let finished = Arc::new(AtomicUsize::new(0));
    let writers = (0..WRITERS).map(|number| {
        let (scene, organization) = (scene.clone(), ada.organization.id);
        let finished = Arc::clone(&finished);
        let task: BoxFuture<'static, Vec<AuditEventId>> = Box::pin(async move {
            let mut recorded = Vec::new();
            for _ in 0..EVENTS_OF_EACH {
                let event = record(&scene, (number % 2 == 0).then_some(organization)).await;
                recorded.push(event.id);
            }
            finished.fetch_add(1, Ordering::SeqCst);
            recorded
        });
        task
    });
    let reader = {
        let (scene, finished) = (scene.clone(), Arc::clone(&finished));
        let task: BoxFuture<'static, Vec<AuditEventId>> = Box::pin(async move {
            let (mut found, mut after) = (Vec::new(), begun);
            loop {
                let is_last = finished.load(Ordering::SeqCst) == WRITERS;
                let page = read(&scene, after, PageSize::EXPORT).await;
                if is_last && page.entries.is_empty() {
                    return found;
                }
                after = page.entries.last().map_or(after, |last| Some(last.0));
                found.extend(ids(&page));
                // A feed that does not lead on would never be empty.
                assert!(found.len() <= WRITERS * EVENTS_OF_EACH, "no event is read twice");
            }
        });
        task
    };
    let mut found = scene.in_parallel(writers.chain([reader])).await;
    let read = found.pop().expect("what was read");
    // Each writer's events in their order, and nothing else.
    for recorded in found {
        let mut theirs = read.clone();
        theirs.retain(|event| recorded.contains(event));
        assert_eq!(theirs, recorded);
    }
    assert_eq!(read.len(), WRITERS * EVENTS_OF_EACH);
}

async fn record(scene: &Scene<Stores>, organization: Option<OrganizationId>) -> AuditEvent {
    let act = scene.act_as(Actor::Anonymous, organization);
    let event = act.refusal(Action::SignIn, Subject::Installation);
    let recorded = scene.stores.keys.audit_log.record(event.clone()).await;
    recorded.expect("an event is recorded");
    event
}

async fn read(scene: &Scene<Stores>, after: Option<FeedPosition>, at_most: PageSize) -> FeedPage {
    let page = scene.stores.audit_feed.events_after(after, at_most).await;
    page.expect("the log is read")
}

async fn last_position(scene: &Scene<Stores>) -> Option<FeedPosition> {
    let last = scene.stores.audit_feed.last_position().await;
    last.expect("the store answers")
}

fn ids(page: &FeedPage) -> Vec<AuditEventId> {
    ids_of(page.entries.iter().map(|(_, event)| event))
}
