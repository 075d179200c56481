use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures_util::FutureExt;

use super::{MemoryStore, State};
use crate::audit::AuditEvent;
use crate::ports::StorageError;
use crate::sign_in::ports::{AttemptKind, FullBucket, LimitedAuditLog, Throttle};
use crate::sign_in::refusals::{RefusalQueue, RefusalWriter, RefusedAttempt};
use crate::sign_in::throttle::ThrottleBucket;

#[async_trait]
impl Throttle for MemoryStore {
    async fn count_attempt(
        &self,
        _: AttemptKind,
        buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        Ok(self.state()?.count_attempt(&buckets, now))
    }

    async fn give_back(&self, _: AttemptKind, buckets: Vec<ThrottleBucket>) -> Result<(), StorageError> {
        let mut state = self.state()?;
        for bucket in buckets {
            if let Some(empty_at) = state.throttle.get_mut(bucket.as_bytes()) {
                *empty_at = bucket.give_back(*empty_at);
            }
        }
        Ok(())
    }
}

#[async_trait]
impl LimitedAuditLog for MemoryStore {
    async fn record_within(
        &self,
        limits: Vec<ThrottleBucket>,
        events: Vec<AuditEvent>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        let mut state = self.state()?;
        let before = state.throttle.clone();
        if let Some(full) = state.count_attempt(&limits, now) {
            return Ok(Some(full));
        }
        if let Err(error) = state.write(events) {
            state.throttle = before;
            return Err(error);
        }
        Ok(None)
    }
}

/// At once: nothing here ever waits.
impl RefusalQueue for MemoryStore {
    fn push(&self, refusal: RefusedAttempt) {
        let writer = RefusalWriter::new(Arc::new(self.clone()), Arc::new(self.clone()));
        // Refusals that cannot be written are lost, which the port allows.
        let _ = writer.write(refusal).now_or_never();
    }
}

impl State {
    fn count_attempt(&mut self, buckets: &[ThrottleBucket], now: DateTime<Utc>) -> Option<FullBucket> {
        self.throttle.retain(|_, empty_at| *empty_at > now);
        let mut after = self.throttle.clone();
        for bucket in buckets {
            match bucket.count_attempt(after.get(bucket.as_bytes()).copied(), now) {
                Ok(empty_at) => after.insert(*bucket.as_bytes(), empty_at),
                Err(throttled) => {
                    return Some(FullBucket {
                        bucket: *bucket,
                        throttled,
                    });
                }
            };
        }
        self.throttle = after;
        None
    }
}
