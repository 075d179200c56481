//! What [`SignInThrottle`](crate::sign_in::ports::SignInThrottle) promises.

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::scene::SignInScene;
use crate::sign_in::throttle::{ThrottleBucket, Throttled};

pub async fn attempts_are_taken_as_the_rule_says(stores: Stores) {
    let scene = SignInScene::new(stores);
    let account = ThrottleBucket::account("ada");
    let address = ThrottleBucket::address([192, 0, 2, 7].into());
    for bucket in [account, address] {
        let mut empty_at: Option<DateTime<Utc>> = None;
        // Bursts, pauses of odd lengths, and a clock that steps back.
        for pause in [0, 1, 999, 0, 61_003, 5_000, -30_000, 600_000, 10_000, 0] {
            for _ in 0..23 {
                let now = scene.now();
                let expected = match bucket.take(empty_at, now) {
                    Ok(moment) => {
                        empty_at = Some(moment);
                        None
                    }
                    Err(throttled) => Some(throttled),
                };
                assert_eq!(take(&scene, bucket).await, expected);
            }
            scene.later(TimeDelta::milliseconds(pause));
        }
    }
}

pub async fn buckets_do_not_share_attempts(stores: Stores) {
    let scene = SignInScene::new(stores);
    let buckets = [
        ThrottleBucket::account("ada"),
        ThrottleBucket::account("bob"),
        ThrottleBucket::address([192, 0, 2, 7].into()),
    ];
    drain(&scene, buckets[0]).await;

    assert_eq!(take(&scene, buckets[1]).await, None);
    assert_eq!(take(&scene, buckets[2]).await, None);
}

pub async fn clearing_gives_all_attempts_of_one_bucket_back(stores: Stores) {
    let scene = SignInScene::new(stores);
    let (ada, bob) = (ThrottleBucket::account("ada"), ThrottleBucket::account("bob"));
    let burst = drain(&scene, ada).await;
    drain(&scene, bob).await;
    scene.stores.throttle.clear(ada).await.expect("cleared");

    assert_eq!(drain(&scene, ada).await, burst);
    assert!(
        take(&scene, bob).await.is_some(),
        "other buckets stay as they are"
    );
}

pub async fn concurrent_attempts_pass_no_more_often_than_one_after_the_other(stores: Stores) {
    let scene = SignInScene::new(stores);
    let one_by_one = drain(&scene, ThrottleBucket::account("one by one")).await;
    let at_once = ThrottleBucket::account("at once");
    let attempts = (0..64).map(|_| {
        let scene = scene.clone();
        let task: BoxFuture<'static, _> = Box::pin(async move { take(&scene, at_once).await });
        task
    });
    let results = scene.in_parallel(attempts).await;
    let passed = results.iter().filter(|refused| refused.is_none()).count();

    assert_eq!(passed, one_by_one);
}

async fn take(scene: &SignInScene, bucket: ThrottleBucket) -> Option<Throttled> {
    scene
        .stores
        .throttle
        .take(bucket, scene.now())
        .await
        .expect("the store answers")
}

/// Takes attempts until one is refused; says how many passed.
async fn drain(scene: &SignInScene, bucket: ThrottleBucket) -> usize {
    const MANY: usize = 1_000;
    for passed in 0..MANY {
        if take(scene, bucket).await.is_some() {
            return passed;
        }
    }
    panic!("none of {MANY} attempts was refused")
}
