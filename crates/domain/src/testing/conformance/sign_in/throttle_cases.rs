//! Cases of [`Throttle`](crate::sign_in::ports::Throttle) and
//! [`LimitedAuditLog`](crate::sign_in::ports::LimitedAuditLog).

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::rate::Throttled;
use crate::sign_in::ports::{AttemptKind, FullBucket};
use crate::sign_in::throttle::{CountedAccount, EventLimit, ThrottleBucket};

pub(super) async fn attempts_are_counted_by_the_rule(stores: Stores) {
    let scene = Scene::new(stores);
    for bucket in attempt_of("ada") {
        let mut empty_at: Option<DateTime<Utc>> = None;
        // Bursts, pauses of odd lengths, and a clock that steps back.
        for pause in [0, 1, 999, 0, 61_003, 5_000, -30_000, 600_000, 10_000, 0] {
            for _ in 0..23 {
                let now = scene.now();
                let expected = match bucket.count_attempt(empty_at, now) {
                    Ok(moment) => {
                        empty_at = Some(moment);
                        None
                    }
                    Err(throttled) => Some(throttled),
                };
                assert_eq!(count_attempt(&scene, bucket).await, expected);
            }
            scene.later(TimeDelta::milliseconds(pause));
        }
    }
}

pub(super) async fn buckets_are_counted_separately(stores: Stores) {
    let scene = Scene::new(stores);
    let (full, other) = (bucket(&scene), bucket(&scene));
    drain(&scene, full).await;

    assert_eq!(count_attempt(&scene, other).await, None);
}

pub(super) async fn attempt_is_counted_in_all_buckets_or_none(stores: Stores) {
    let scene = Scene::new(stores);
    let (first, full, last) = (bucket(&scene), bucket(&scene), bucket(&scene));
    let burst = drain(&scene, full).await;
    for _ in 0..burst + 1 {
        let refused = take_all(&scene, &[first, full, last]).await.expect("one is full");
        assert_eq!(refused.bucket, full);
        assert_eq!(
            refused.throttled,
            count_attempt(&scene, full).await.expect("it is full")
        );
    }

    for _ in 0..burst {
        assert_eq!(take_all(&scene, &[first, last]).await, None);
    }
    let refused = take_all(&scene, &[first, last]).await.expect("both are full");
    assert_eq!(refused.bucket, first);
}

pub(super) async fn returned_attempt_is_not_counted_in_store(stores: Stores) {
    let scene = Scene::new(stores);
    let buckets = [bucket(&scene), bucket(&scene)];
    let burst = drain(&scene, buckets[0]).await;
    give_back(&scene, &buckets).await;
    assert_eq!(count_attempt(&scene, buckets[0]).await, None);
    assert!(
        count_attempt(&scene, buckets[0]).await.is_some(),
        "only one was given back"
    );

    assert_eq!(
        drain(&scene, buckets[1]).await,
        burst,
        "nothing was taken, so nothing is gained"
    );
}

pub(super) async fn concurrent_attempts_are_counted_and_returned_one_by_one(stores: Stores) {
    let scene = Scene::new(stores);
    let buckets = [bucket(&scene), bucket(&scene)];
    let attempts = (0..40).map(|_| {
        let scene = scene.clone();
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let is_taken = take_all(&scene, &buckets).await.is_none();
            if is_taken {
                give_back(&scene, &buckets).await;
            }
        });
        task
    });
    scene.in_parallel(attempts).await;

    let fresh = bucket(&scene);
    let burst = drain(&scene, fresh).await;
    for bucket in buckets {
        assert_eq!(drain(&scene, bucket).await, burst);
    }
}

pub(super) async fn concurrent_attempts_are_limited_like_sequential_ones(stores: Stores) {
    let scene = Scene::new(stores);
    let fresh = bucket(&scene);
    let one_by_one = drain(&scene, fresh).await;
    let at_once = [bucket(&scene), bucket(&scene)];
    let attempts = (0..64).map(|_| {
        let scene = scene.clone();
        let task: BoxFuture<'static, _> = Box::pin(async move { take_all(&scene, &at_once).await });
        task
    });
    let results = scene.in_parallel(attempts).await;
    let passed = results.iter().filter(|refused| refused.is_none()).count();

    assert_eq!(passed, one_by_one);
}

pub(super) async fn events_are_written_until_their_limit(stores: Stores) {
    let scene = Scene::new(stores);
    let limits = [vec![bucket(&scene)], one_an_hour(&scene)].concat();
    for hour in 1..=2 {
        assert!(record(&scene, &limits, vec![event(&scene), event(&scene)]).await);
        let full = record_or_full(&scene, &limits, vec![event(&scene)]).await;
        let full = full.expect("one an hour");
        assert_eq!(full.bucket, limits[1]);
        assert_eq!(full.throttled.retry_after, TimeDelta::hours(1));
        assert_eq!(refusals(&scene).await, 2 * hour);
        scene.later(TimeDelta::hours(1));
    }
    // Attempts that were not written do not count.
    let fresh = bucket(&scene);
    let burst = drain(&scene, fresh).await;
    assert_eq!(drain(&scene, limits[0]).await, burst);
}

pub(super) async fn unwritable_events_count_no_attempt(stores: Stores) {
    let scene = Scene::new(stores);
    let limits = one_an_hour(&scene);
    let unwritable = scene.unwritable(event(&scene)).await;
    let before = scene.events(None).await;
    let written = scene
        .stores
        .limited_audit_log
        .record_within(limits.to_vec(), vec![event(&scene), unwritable], scene.now())
        .await;
    assert!(written.is_err());
    assert_eq!(scene.events(None).await, before);

    assert!(record(&scene, &limits, vec![event(&scene)]).await);
}

pub(super) async fn concurrent_events_respect_their_limit(stores: Stores) {
    let scene = Scene::new(stores);
    let limits = one_an_hour(&scene);
    let attempts = (0..16).map(|_| {
        let (scene, limits) = (scene.clone(), limits.clone());
        let task: BoxFuture<'static, _> =
            Box::pin(async move { record(&scene, &limits, vec![event(&scene)]).await });
        task
    });
    let written = scene.in_parallel(attempts).await;

    assert_eq!(written.iter().filter(|written| **written).count(), 1);
    assert_eq!(refusals(&scene).await, 1);
}

pub(super) async fn limited_events_are_written_after_caller_cancellation(stores: Stores) {
    let scene = Scene::new(stores);
    let limits = one_an_hour(&scene);
    let events = vec![event(&scene)];
    abandon(
        scene
            .stores
            .limited_audit_log
            .record_within(limits, events, scene.now()),
    )
    .await;

    eventually("the abandoned event is written", async || {
        refusals(&scene).await == 1
    })
    .await;
}

/// A bucket that no other test uses.
fn bucket(scene: &Scene<Stores>) -> ThrottleBucket {
    ThrottleBucket::password_change(scene.id())
}

fn one_an_hour(scene: &Scene<Stores>) -> Vec<ThrottleBucket> {
    EventLimit::UncheckedAttempts(scene.id()).buckets()
}

fn attempt_of(username: &str) -> Vec<ThrottleBucket> {
    let address = "2001:db8::7".parse().expect("an address");
    ThrottleBucket::of_attempt(CountedAccount::new(username, None), Some(address))
}

fn event(scene: &Scene<Stores>) -> AuditEvent {
    scene
        .act_as(Actor::Anonymous, None)
        .refusal(Action::SignIn, Subject::Installation)
}

async fn refusals(scene: &Scene<Stores>) -> usize {
    let events = scene.events(None).await;
    events
        .iter()
        .filter(|event| event.action == Action::SignIn)
        .count()
}

async fn record(scene: &Scene<Stores>, limits: &[ThrottleBucket], events: Vec<AuditEvent>) -> bool {
    record_or_full(scene, limits, events).await.is_none()
}

async fn record_or_full(
    scene: &Scene<Stores>,
    limits: &[ThrottleBucket],
    events: Vec<AuditEvent>,
) -> Option<FullBucket> {
    let log = &scene.stores.limited_audit_log;
    let written = log.record_within(limits.to_vec(), events, scene.now()).await;
    written.expect("the store answers")
}

async fn count_attempt(scene: &Scene<Stores>, bucket: ThrottleBucket) -> Option<Throttled> {
    take_all(scene, &[bucket]).await.map(|full| full.throttled)
}

async fn take_all(scene: &Scene<Stores>, buckets: &[ThrottleBucket]) -> Option<FullBucket> {
    scene
        .stores
        .throttle
        .count_attempt(AttemptKind::SignIn, buckets.to_vec(), scene.now())
        .await
        .expect("the store answers")
}

async fn give_back(scene: &Scene<Stores>, buckets: &[ThrottleBucket]) {
    let (throttle, kind) = (&scene.stores.throttle, AttemptKind::SignIn);
    let given_back = throttle.give_back(kind, buckets.to_vec()).await;
    given_back.expect("the store answers");
}

/// Takes attempts until one is refused; says how many passed.
async fn drain(scene: &Scene<Stores>, bucket: ThrottleBucket) -> usize {
    const MANY: usize = 1_000;
    for passed in 0..MANY {
        if count_attempt(scene, bucket).await.is_some() {
            return passed;
        }
    }
    panic!("none of {MANY} attempts was refused")
}
