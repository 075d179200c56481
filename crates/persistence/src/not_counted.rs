//! Why an attempt was counted in no bucket.

use chrono::{DateTime, Utc};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::FullBucket;
use keyward_domain::sign_in::throttle::ThrottleBucket;

use crate::abort::Abort;

/// Why a transaction that counts an attempt in several buckets is rolled back.
pub(crate) enum NotCounted {
    /// One of them is full.
    Full(FullBucket),
    /// The store failed.
    Storage(StorageError),
}

impl NotCounted {
    /// Counts one attempt in a bucket; returns the timestamp to store for it.
    pub(crate) fn check(
        bucket: ThrottleBucket,
        empty_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Abort<Self>> {
        let full = |throttled| Self::Full(FullBucket { bucket, throttled });
        bucket
            .count_attempt(empty_at, now)
            .map_err(|throttled| Abort::Refused(full(throttled)))
    }

    /// The full bucket, if one was full.
    pub(crate) fn full_bucket(taken: Result<(), Self>) -> Result<Option<FullBucket>, StorageError> {
        match taken {
            Ok(()) => Ok(None),
            Err(Self::Full(full)) => Ok(Some(full)),
            Err(Self::Storage(error)) => Err(error),
        }
    }
}

impl From<StorageError> for NotCounted {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}
