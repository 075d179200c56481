use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{AttemptKind, FullBucket, Throttle};
use keyward_domain::sign_in::throttle::ThrottleBucket;

use super::{BrokenStore, Fault, lock, pause};

#[async_trait]
impl Throttle for BrokenStore {
    async fn count_attempt(
        &self,
        kind: AttemptKind,
        buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        match self.fault {
            Fault::ReadsThrottleBeforeTransaction => self.take_what_was_read_before(&buckets, now).await,
            Fault::CountsRefusedAttempts => {
                for bucket in buckets {
                    let full = self.sound.count_attempt(kind, vec![bucket], now).await?;
                    if full.is_some() {
                        return Ok(full);
                    }
                }
                Ok(None)
            }
            _ => self.sound.count_attempt(kind, buckets, now).await,
        }
    }

    async fn give_back(&self, kind: AttemptKind, buckets: Vec<ThrottleBucket>) -> Result<(), StorageError> {
        for bucket in &buckets {
            if let Some(empty_at) = lock(&self.buckets).get_mut(bucket.as_bytes()) {
                *empty_at = bucket.give_back(*empty_at);
            }
        }
        self.sound.give_back(kind, buckets).await
    }
}

impl BrokenStore {
    async fn take_what_was_read_before(
        &self,
        buckets: &[ThrottleBucket],
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        for bucket in buckets {
            let empty_at = lock(&self.buckets).get(bucket.as_bytes()).copied();
            pause().await;
            match bucket.count_attempt(empty_at, now) {
                Ok(moment) => {
                    lock(&self.buckets).insert(*bucket.as_bytes(), moment);
                }
                Err(throttled) => {
                    let bucket = *bucket;
                    return Ok(Some(FullBucket { bucket, throttled }));
                }
            }
        }
        Ok(None)
    }
}
