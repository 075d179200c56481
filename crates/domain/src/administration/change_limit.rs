//! How many changes owners may make.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::administration::Authority;
use crate::audit::Actor;
use crate::ports::StorageError;
use crate::rate::Throttled;
use crate::sign_in::ports::{AttemptKind, Throttle};
use crate::sign_in::throttle::ThrottleBucket;

/// Counts changes by owners that write an audit event and can be repeated without end, for each owner and for
/// each organization, so that no owner can fill the disk on which the logs of all organizations are.
///
/// Removing members, revoking keys and invitations, archiving projects and the like are never counted, and so
/// never refused: each can be repeated only after something that is counted. Nor is the command line.
#[derive(Clone)]
pub(super) struct ChangeLimit(pub(super) Arc<dyn Throttle>);

impl ChangeLimit {
    /// Counts a change.
    ///
    /// # Errors
    /// There were too many, or the store failed; then the change MUST NOT be made.
    pub(super) async fn count<E>(&self, authority: &Authority, now: DateTime<Utc>) -> Result<(), E>
    where
        E: From<Throttled> + From<StorageError>,
    {
        self.count_in(authority, vec![], now).await
    }

    /// Counts a change of the longest life, which may then be applied to every key of the organization: each
    /// writes an event.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(super) async fn count_longest_life<E>(
        &self,
        authority: &Authority,
        now: DateTime<Utc>,
    ) -> Result<(), E>
    where
        E: From<Throttled> + From<StorageError>,
    {
        let bucket = ThrottleBucket::longest_lives_of(authority.organization_id());
        self.count_in(authority, vec![bucket], now).await
    }

    async fn count_in<E>(
        &self,
        authority: &Authority,
        mut buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<(), E>
    where
        E: From<Throttled> + From<StorageError>,
    {
        let Actor::User(owner) = authority.as_actor() else {
            return Ok(());
        };
        buckets.push(ThrottleBucket::changes_by_owner(owner));
        // Last, so that its lock is not held during the wait for another bucket. An owner may invite any
        // number of owners, each with a bucket of their own.
        buckets.push(ThrottleBucket::changes_in(authority.organization_id()));
        let counted = self.0.count_attempt(AttemptKind::OwnerChange, buckets, now);
        match counted.await? {
            Some(full) => Err(full.throttled.into()),
            None => Ok(()),
        }
    }
}
