//! Attempts that are refused, of which a stranger can send thousands.

use std::time::Duration;

use keyward_domain::clock::Clock;
use keyward_domain::id::UserId;
use keyward_domain::sign_in::throttle::{AttemptKind, EventLimit, ThrottleBucket};
use tokio::time::timeout;

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(refused_attempts_and_events_do_not_wait_for_changes);

/// Far longer than an answer takes, and shorter than a change waits here.
const LONG: Duration = Duration::from_secs(20);

async fn refused_attempts_and_events_do_not_wait_for_changes(database: Database) {
    let scene = Scene::new(database).await;
    let (store, now) = (&scene.database.store, scene.make.clock.now());
    let user: UserId = scene.make.ids.next();
    let buckets = vec![ThrottleBucket::password_change(user)];
    while store
        .count_attempt(AttemptKind::SignIn, buckets.clone(), now)
        .await
        .expect("an answer")
        .is_none()
    {}
    let limits = EventLimit::UncheckedAttempts(user).buckets();
    let written = store.record_within(limits.clone(), Vec::new(), now).await;
    assert_eq!(written.expect("an answer"), None);

    let _lock = scene.database.lock_throttle().await;
    let refused = timeout(LONG, store.count_attempt(AttemptKind::SignIn, buckets, now)).await;
    assert!(refused.expect("in time").expect("an answer").is_some());
    let written = timeout(LONG, store.record_within(limits, Vec::new(), now)).await;
    assert!(written.expect("in time").expect("an answer").is_some());
}
