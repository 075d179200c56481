use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::MemoryStore;
use crate::ports::StorageError;
use crate::sign_in::ports::SignInThrottle;
use crate::sign_in::throttle::{ThrottleBucket, Throttled};

#[async_trait]
impl SignInThrottle for MemoryStore {
    async fn take(
        &self,
        bucket: ThrottleBucket,
        now: DateTime<Utc>,
    ) -> Result<Option<Throttled>, StorageError> {
        let mut state = self.state()?;
        state.throttle.retain(|_, empty_at| *empty_at > now);
        match bucket.take(state.throttle.get(bucket.as_bytes()).copied(), now) {
            Ok(empty_at) => {
                state.throttle.insert(*bucket.as_bytes(), empty_at);
                Ok(None)
            }
            Err(throttled) => Ok(Some(throttled)),
        }
    }

    async fn clear(&self, bucket: ThrottleBucket) -> Result<(), StorageError> {
        self.state()?.throttle.remove(bucket.as_bytes());
        Ok(())
    }
}
