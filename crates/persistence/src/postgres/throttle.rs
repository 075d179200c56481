//! How often somebody tried to sign in, counted for all replicas together.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::SignInThrottle;
use keyward_domain::sign_in::throttle::{ThrottleBucket, Throttled};

use super::schema::sign_in_throttle;
use super::store::PostgresStore;
use crate::abort::Abort;

#[async_trait]
impl SignInThrottle for PostgresStore {
    async fn take(
        &self,
        bucket: ThrottleBucket,
        now: DateTime<Utc>,
    ) -> Result<Option<Throttled>, StorageError> {
        self.change(move |connection| Box::pin(take(connection, bucket, now)))
            .await
    }

    async fn clear(&self, bucket: ThrottleBucket) -> Result<(), StorageError> {
        self.change(move |connection| Box::pin(clear(connection, bucket)))
            .await
    }
}

async fn take(
    connection: &mut AsyncPgConnection,
    bucket: ThrottleBucket,
    now: DateTime<Utc>,
) -> Result<Option<Throttled>, Abort<StorageError>> {
    let key = bucket.as_bytes().as_slice();
    // Locks the bucket's row, whether it was there or not, so concurrent attempts take one after the other. A bucket
    // that is empty at this moment is the same as one never used.
    let empty_at: DateTime<Utc> = diesel::insert_into(sign_in_throttle::table)
        .values((
            sign_in_throttle::bucket.eq(key),
            sign_in_throttle::empty_at.eq(now),
        ))
        .on_conflict(sign_in_throttle::bucket)
        .do_update()
        .set(sign_in_throttle::empty_at.eq(sign_in_throttle::empty_at))
        .returning(sign_in_throttle::empty_at)
        .get_result(connection)
        .await?;
    match bucket.take(Some(empty_at), now) {
        Ok(empty_at) => {
            diesel::update(sign_in_throttle::table.filter(sign_in_throttle::bucket.eq(key)))
                .set(sign_in_throttle::empty_at.eq(empty_at))
                .execute(connection)
                .await?;
            Ok(None)
        }
        Err(throttled) => Ok(Some(throttled)),
    }
}

async fn clear(
    connection: &mut AsyncPgConnection,
    bucket: ThrottleBucket,
) -> Result<(), Abort<StorageError>> {
    let key = bucket.as_bytes().as_slice();
    diesel::delete(sign_in_throttle::table.filter(sign_in_throttle::bucket.eq(key)))
        .execute(connection)
        .await?;
    Ok(())
}
