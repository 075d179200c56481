//! How often somebody tried to sign in, counted for all processes together.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::SignInThrottle;
use keyward_domain::sign_in::throttle::{ThrottleBucket, Throttled};

use super::columns::moment;
use super::schema::sign_in_throttle;
use super::store::SqliteStore;
use crate::abort::Abort;

#[async_trait]
impl SignInThrottle for SqliteStore {
    async fn take(
        &self,
        bucket: ThrottleBucket,
        now: DateTime<Utc>,
    ) -> Result<Option<Throttled>, StorageError> {
        self.change(move |connection| take(connection, bucket, now)).await
    }

    async fn clear(&self, bucket: ThrottleBucket) -> Result<(), StorageError> {
        self.change(move |connection| clear(connection, bucket)).await
    }
}

fn take(
    connection: &mut SqliteConnection,
    bucket: ThrottleBucket,
    now: DateTime<Utc>,
) -> Result<Option<Throttled>, Abort<StorageError>> {
    let key = bucket.as_bytes().as_slice();
    let empty_at: Option<i64> = sign_in_throttle::table
        .find(key)
        .select(sign_in_throttle::empty_at)
        .get_result(connection)
        .optional()?;
    let empty_at = empty_at.map(moment).transpose();
    let empty_at = empty_at.map_err(|error| StorageError::Defect(error.into()))?;
    match bucket.take(empty_at, now) {
        Ok(empty_at) => {
            let empty_at = empty_at.timestamp_millis();
            diesel::insert_into(sign_in_throttle::table)
                .values((
                    sign_in_throttle::bucket.eq(key),
                    sign_in_throttle::empty_at.eq(empty_at),
                ))
                .on_conflict(sign_in_throttle::bucket)
                .do_update()
                .set(sign_in_throttle::empty_at.eq(empty_at))
                .execute(connection)?;
            Ok(None)
        }
        Err(throttled) => Ok(Some(throttled)),
    }
}

fn clear(connection: &mut SqliteConnection, bucket: ThrottleBucket) -> Result<(), Abort<StorageError>> {
    let key = bucket.as_bytes().as_slice();
    diesel::delete(sign_in_throttle::table.filter(sign_in_throttle::bucket.eq(key))).execute(connection)?;
    Ok(())
}
