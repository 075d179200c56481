//! Cases of removing empty throttle buckets.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{ALL, MILLISECOND};
use crate::sign_in::throttle::{AttemptKind, ThrottleBucket};

pub(super) async fn refilled_buckets_are_removed_without_granting_attempts(stores: Stores) {
    let scene = Scene::new(stores);
    let bucket = ThrottleBucket::password_change(scene.id());
    let mut empty_at = None;
    while let Ok(moment) = bucket.count_attempt(empty_at, scene.now()) {
        empty_at = Some(moment);
        assert!(count_attempt(&scene, bucket).await);
    }
    let empty_at = empty_at.expect("a bucket takes an attempt");

    assert_eq!(remove(&scene, empty_at, ALL).await, 0);
    assert!(!count_attempt(&scene, bucket).await, "it is as full as before");
    assert_eq!(remove(&scene, empty_at + MILLISECOND, ALL).await, 1);
    assert_eq!(remove(&scene, empty_at + MILLISECOND, ALL).await, 0);

    for _ in 0..7 {
        count_attempt(&scene, ThrottleBucket::password_change(scene.id())).await;
    }
    let long_after = scene.now() + TimeDelta::days(1);
    for removed in [4, 3, 0] {
        assert_eq!(remove(&scene, long_after, 4).await, removed);
    }
}

/// Whether an attempt is let through.
async fn count_attempt(scene: &Scene<Stores>, bucket: ThrottleBucket) -> bool {
    let throttled = scene
        .stores
        .throttle
        .count_attempt(AttemptKind::SignIn, vec![bucket], scene.now())
        .await;
    throttled.expect("the store answers").is_none()
}

async fn remove(scene: &Scene<Stores>, empty_before: DateTime<Utc>, at_most: u32) -> u32 {
    let retention = &scene.stores.retention;
    let removed = retention
        .remove_empty_throttle_buckets(empty_before, at_most)
        .await;
    removed.expect("empty buckets are removed")
}
