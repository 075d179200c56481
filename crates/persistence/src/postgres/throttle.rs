//! How often somebody tried to sign in, counted for all replicas together.

use std::collections::HashMap;
use std::convert::Infallible;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{FullBucket, LimitedAuditLog, SignInThrottle};
use keyward_domain::sign_in::throttle::ThrottleBucket;

use super::audit_log::write_events;
use super::change::begun_before;
use super::schema::sign_in_throttle;
use super::store::PostgresStore;
use crate::abort::Abort;
use crate::claim::Claim;
use crate::not_taken::NotTaken;

#[async_trait]
impl SignInThrottle for PostgresStore {
    async fn take(
        &self,
        buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        let looked_at = buckets.clone();
        let taken = self.change_after_look(
            move |connection| Box::pin(async move { look_at(connection, &looked_at, now).await }),
            Claim::SigningIn,
            begun_before(move |connection| Box::pin(async move { take(connection, &buckets, now).await })),
        );
        NotTaken::full_bucket(taken.await)
    }

    async fn give_back(&self, buckets: Vec<ThrottleBucket>) -> Result<(), StorageError> {
        self.change(move |connection| Box::pin(async move { give_back(connection, &buckets).await }))
            .await
    }
}

#[async_trait]
impl LimitedAuditLog for PostgresStore {
    async fn record_within(
        &self,
        limits: Vec<ThrottleBucket>,
        events: Vec<AuditEvent>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        let looked_at = limits.clone();
        let recorded = self.change_after_look(
            move |connection| Box::pin(async move { look_at(connection, &looked_at, now).await }),
            Claim::SigningIn,
            begun_before(move |connection| {
                Box::pin(async move {
                    take(connection, &limits, now).await?;
                    Ok(write_events(connection, events).await?)
                })
            }),
        );
        NotTaken::full_bucket(recorded.await)
    }
}

/// Whether one of the buckets is full already: a stranger who is refused writes nothing, however often they ask. That one was
/// full a moment ago is as good an answer; that none was is not.
async fn look_at(
    connection: &mut AsyncPgConnection,
    buckets: &[ThrottleBucket],
    now: DateTime<Utc>,
) -> Result<Option<Result<(), NotTaken>>, Abort<Infallible>> {
    let keys: Vec<&[u8]> = buckets
        .iter()
        .map(|bucket| bucket.as_bytes().as_slice())
        .collect();
    let kept: Vec<(Vec<u8>, DateTime<Utc>)> = sign_in_throttle::table
        .filter(sign_in_throttle::bucket.eq_any(keys))
        .select((sign_in_throttle::bucket, sign_in_throttle::empty_at))
        .load(connection)
        .await?;
    let kept: HashMap<Vec<u8>, DateTime<Utc>> = kept.into_iter().collect();
    let full = buckets.iter().find_map(|bucket| {
        let empty_at = kept.get(bucket.as_bytes().as_slice()).copied();
        FullBucket::check(*bucket, empty_at, now)
    });
    Ok(full.map(|full| Err(NotTaken::Full(full))))
}

/// Takes from all of them. If one is full, the transaction is rolled back, and nothing was taken from the others.
async fn take(
    connection: &mut AsyncPgConnection,
    buckets: &[ThrottleBucket],
    now: DateTime<Utc>,
) -> Result<(), Abort<NotTaken>> {
    for bucket in buckets {
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
        let empty_at = NotTaken::check(*bucket, Some(empty_at), now)?;
        keep(connection, bucket, empty_at).await?;
    }
    Ok(())
}

async fn give_back(
    connection: &mut AsyncPgConnection,
    buckets: &[ThrottleBucket],
) -> Result<(), Abort<StorageError>> {
    for bucket in buckets {
        let empty_at: Option<DateTime<Utc>> = sign_in_throttle::table
            .filter(sign_in_throttle::bucket.eq(bucket.as_bytes().as_slice()))
            .select(sign_in_throttle::empty_at)
            .for_update()
            .get_result(connection)
            .await
            .optional()?;
        if let Some(empty_at) = empty_at {
            keep(connection, bucket, bucket.give_back(empty_at)).await?;
        }
    }
    Ok(())
}

async fn keep(
    connection: &mut AsyncPgConnection,
    bucket: &ThrottleBucket,
    empty_at: DateTime<Utc>,
) -> Result<(), diesel::result::Error> {
    let key = bucket.as_bytes().as_slice();
    diesel::update(sign_in_throttle::table.filter(sign_in_throttle::bucket.eq(key)))
        .set(sign_in_throttle::empty_at.eq(empty_at))
        .execute(connection)
        .await?;
    Ok(())
}
