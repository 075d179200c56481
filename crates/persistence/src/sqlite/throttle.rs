//! How often somebody tried to sign in, counted for all processes together.

use std::convert::Infallible;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{FullBucket, LimitedAuditLog, SignInThrottle};
use keyward_domain::sign_in::throttle::ThrottleBucket;

use super::audit_log::write_events;
use super::schema::sign_in_throttle;
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::claim::Claim;
use crate::columns::moment;
use crate::not_taken::NotTaken;

#[async_trait]
impl SignInThrottle for SqliteStore {
    async fn take(
        &self,
        buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        let look = look_at(buckets.clone(), now);
        let change = move |connection: &mut SqliteConnection| take(connection, &buckets, now);
        NotTaken::full_bucket(
            self.change_blocking_after_look(look, Claim::SigningIn, change)
                .await,
        )
    }

    async fn give_back(&self, buckets: Vec<ThrottleBucket>) -> Result<(), StorageError> {
        self.change_blocking_with(Claim::SigningIn, move |connection| {
            give_back(connection, &buckets)
        })
        .await
    }
}

#[async_trait]
impl LimitedAuditLog for SqliteStore {
    async fn record_within(
        &self,
        limits: Vec<ThrottleBucket>,
        events: Vec<AuditEvent>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        let look = look_at(limits.clone(), now);
        let change = move |connection: &mut SqliteConnection| {
            take(connection, &limits, now)?;
            Ok(write_events(connection, events)?)
        };
        NotTaken::full_bucket(
            self.change_blocking_after_look(look, Claim::SigningIn, change)
                .await,
        )
    }
}

/// Whether one of the buckets is full already. A stranger who is refused never takes the one writer, which revocations wait
/// for, however often they ask. That one was full a moment ago is as good an answer; that none was is not.
fn look_at(
    buckets: Vec<ThrottleBucket>,
    now: DateTime<Utc>,
) -> impl FnOnce(&mut SqliteConnection) -> Result<Option<Result<(), NotTaken>>, Abort<Infallible>> {
    move |connection| {
        for bucket in buckets {
            if let Some(full) = FullBucket::check(bucket, kept(connection, &bucket)?, now) {
                return Ok(Some(Err(NotTaken::Full(full))));
            }
        }
        Ok(None)
    }
}

/// Takes from all of them. If one is full, the transaction is rolled back, and nothing was taken from the others.
fn take(
    connection: &mut SqliteConnection,
    buckets: &[ThrottleBucket],
    now: DateTime<Utc>,
) -> Result<(), Abort<NotTaken>> {
    for bucket in buckets {
        let empty_at = NotTaken::check(*bucket, kept(connection, bucket)?, now)?;
        keep(connection, bucket, empty_at)?;
    }
    Ok(())
}

fn give_back(
    connection: &mut SqliteConnection,
    buckets: &[ThrottleBucket],
) -> Result<(), Abort<StorageError>> {
    for bucket in buckets {
        if let Some(empty_at) = kept(connection, bucket)? {
            keep(connection, bucket, bucket.give_back(empty_at))?;
        }
    }
    Ok(())
}

fn kept<E>(
    connection: &mut SqliteConnection,
    bucket: &ThrottleBucket,
) -> Result<Option<DateTime<Utc>>, Abort<E>> {
    let empty_at: Option<i64> = sign_in_throttle::table
        .find(bucket.as_bytes().as_slice())
        .select(sign_in_throttle::empty_at)
        .get_result(connection)
        .optional()?;
    let empty_at = empty_at.map(moment).transpose();
    Ok(empty_at.map_err(|error| StorageError::Defect(error.into()))?)
}

fn keep(
    connection: &mut SqliteConnection,
    bucket: &ThrottleBucket,
    empty_at: DateTime<Utc>,
) -> Result<(), QueryError> {
    let empty_at = empty_at.timestamp_millis();
    diesel::insert_into(sign_in_throttle::table)
        .values((
            sign_in_throttle::bucket.eq(bucket.as_bytes().as_slice()),
            sign_in_throttle::empty_at.eq(empty_at),
        ))
        .on_conflict(sign_in_throttle::bucket)
        .do_update()
        .set(sign_in_throttle::empty_at.eq(empty_at))
        .execute(connection)?;
    Ok(())
}
