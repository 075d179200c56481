//! Why an attempt is taken from no bucket.

use chrono::{DateTime, Utc};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::FullBucket;
use keyward_domain::sign_in::throttle::ThrottleBucket;

use crate::abort::Abort;

/// Why a transaction that takes from several buckets is rolled back.
pub(crate) enum NotTaken {
    /// One of them is full.
    Full(FullBucket),
    /// The store failed.
    Storage(StorageError),
}

impl NotTaken {
    /// What to keep of a bucket from which one attempt is taken.
    pub(crate) fn check(
        bucket: ThrottleBucket,
        empty_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Abort<Self>> {
        let full = |throttled| Self::Full(FullBucket { bucket, throttled });
        bucket
            .take(empty_at, now)
            .map_err(|throttled| Abort::Refused(full(throttled)))
    }

    /// The bucket that is full, if that is what it was.
    pub(crate) fn full_bucket(taken: Result<(), Self>) -> Result<Option<FullBucket>, StorageError> {
        match taken {
            Ok(()) => Ok(None),
            Err(Self::Full(full)) => Ok(Some(full)),
            Err(Self::Storage(error)) => Err(error),
        }
    }
}

impl From<StorageError> for NotTaken {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}
