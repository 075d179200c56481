//! Throttle buckets, shared by all servers.

use std::collections::HashMap;
use std::convert::Infallible;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{AttemptKind, FullBucket, LimitedAuditLog, Throttle};
use keyward_domain::sign_in::throttle::ThrottleBucket;

use super::dialect::{Connection, RunQueryDsl, Store, begin, for_any_connection, locked, write_events};
use super::schema::sign_in_throttle;
use crate::abort::{Abort, boxed};
use crate::claim::Claim;
use crate::columns::StoredMoment;

#[async_trait]
impl Throttle for Store {
    async fn count_attempt(
        &self,
        kind: AttemptKind,
        buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        self.count(claim_of(kind), buckets, Vec::new(), now).await
    }

    async fn give_back(&self, kind: AttemptKind, buckets: Vec<ThrottleBucket>) -> Result<(), StorageError> {
        let claim = claim_of(kind);
        let given_back = self.change(claim, move |connection| {
            boxed(async move {
                for bucket in buckets {
                    let of_bucket = sign_in_throttle::table
                        .filter(sign_in_throttle::bucket.eq(bucket.as_bytes().as_slice()))
                        .select(sign_in_throttle::empty_at);
                    let empty_at: Option<StoredMoment> =
                        locked!(of_bucket).get_result(connection).await.optional()?;
                    if let Some(empty_at) = empty_at.map(timestamp).transpose()? {
                        save(connection, &bucket, bucket.give_back(empty_at)).await?;
                    }
                }
                Ok(())
            })
        });
        claim.client().run(given_back).await
    }
}

#[async_trait]
impl LimitedAuditLog for Store {
    async fn record_within(
        &self,
        limits: Vec<ThrottleBucket>,
        events: Vec<AuditEvent>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        self.count(Claim::SigningIn, limits, events, now).await
    }
}

impl Store {
    /// Counts in all buckets and writes the events; or neither, if one of the buckets is full.
    async fn count(
        &self,
        claim: Claim,
        buckets: Vec<ThrottleBucket>,
        events: Vec<AuditEvent>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        let checked = buckets.clone();
        let counted = self.change_after_precheck(
            None,
            move |connection| Box::pin(find_full_bucket(connection, checked, now)),
            claim,
            for_any_connection(move |connection| {
                Box::pin(async move {
                    begin(connection).await?;
                    count_attempt(connection, &buckets, now).await?;
                    Ok(write_events(connection, events).await?)
                })
            }),
        );
        match counted.await {
            Ok(()) => Ok(None),
            Err(NotCounted::Full(full)) => Ok(Some(full)),
            Err(NotCounted::Storage(error)) => Err(error),
        }
    }
}

const fn claim_of(kind: AttemptKind) -> Claim {
    match kind {
        AttemptKind::StrangersSignIn => Claim::StrangersSigningIn,
        AttemptKind::SignIn => Claim::SigningIn,
        AttemptKind::OwnerChange => Claim::Nothing,
    }
}

/// Reads whether one of the buckets is full. So a refused attempt writes nothing and, on SQLite, never
/// acquires the write lock that revocations need. A full bucket is a final answer; if none is full, the
/// transaction checks again.
async fn find_full_bucket(
    connection: &mut Connection,
    buckets: Vec<ThrottleBucket>,
    now: DateTime<Utc>,
) -> Result<Option<Result<(), NotCounted>>, Abort<Infallible>> {
    let keys: Vec<&[u8]> = buckets
        .iter()
        .map(|bucket| bucket.as_bytes().as_slice())
        .collect();
    let kept: Vec<(Vec<u8>, StoredMoment)> = sign_in_throttle::table
        .filter(sign_in_throttle::bucket.eq_any(keys))
        .select((sign_in_throttle::bucket, sign_in_throttle::empty_at))
        .load(connection)
        .await?;
    let kept: HashMap<Vec<u8>, StoredMoment> = kept.into_iter().collect();
    for bucket in buckets {
        let empty_at = kept.get(bucket.as_bytes().as_slice()).copied();
        let empty_at = empty_at.map(timestamp).transpose()?;
        if let Some(full) = FullBucket::check(bucket, empty_at, now) {
            return Ok(Some(Err(NotCounted::Full(full))));
        }
    }
    Ok(None)
}

/// Counts the attempt in all buckets. If one is full, the transaction is rolled back and counts in none.
async fn count_attempt(
    connection: &mut Connection,
    buckets: &[ThrottleBucket],
    now: DateTime<Utc>,
) -> Result<(), Abort<NotCounted>> {
    for bucket in buckets {
        let key = bucket.as_bytes().as_slice();
        // Locks the bucket's row, which is inserted if missing, so that concurrent attempts are serialized. A
        // bucket that is empty now equals one never used.
        let empty_at: StoredMoment = diesel::insert_into(sign_in_throttle::table)
            .values((
                sign_in_throttle::bucket.eq(key),
                sign_in_throttle::empty_at.eq(StoredMoment::from(now)),
            ))
            .on_conflict(sign_in_throttle::bucket)
            .do_update()
            .set(sign_in_throttle::empty_at.eq(sign_in_throttle::empty_at))
            .returning(sign_in_throttle::empty_at)
            .get_result(connection)
            .await?;
        let bucket = *bucket;
        let counted = bucket.count_attempt(Some(timestamp(empty_at)?), now);
        let full = |throttled| Abort::Refused(NotCounted::Full(FullBucket { bucket, throttled }));
        save(connection, &bucket, counted.map_err(full)?).await?;
    }
    Ok(())
}

async fn save(
    connection: &mut Connection,
    bucket: &ThrottleBucket,
    empty_at: DateTime<Utc>,
) -> Result<(), diesel::result::Error> {
    let key = bucket.as_bytes().as_slice();
    diesel::update(sign_in_throttle::table.filter(sign_in_throttle::bucket.eq(key)))
        .set(sign_in_throttle::empty_at.eq(StoredMoment::from(empty_at)))
        .execute(connection)
        .await?;
    Ok(())
}

/// An unreadable timestamp is an error, since nothing can be counted from it.
fn timestamp(moment: StoredMoment) -> Result<DateTime<Utc>, StorageError> {
    moment.0.map_err(|error| StorageError::Defect(error.into()))
}

/// Why a transaction that counts an attempt in several buckets is rolled back.
enum NotCounted {
    /// One of them is full.
    Full(FullBucket),
    /// The store failed.
    Storage(StorageError),
}

impl From<StorageError> for NotCounted {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}
