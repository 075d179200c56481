//! How many changes an owner may make.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::administration::Authority;
use crate::audit::Actor;
use crate::ports::StorageError;
use crate::rate::Throttled;
use crate::sign_in::ports::Throttle;
use crate::sign_in::throttle::ThrottleBucket;

/// Counts what owners do that writes an audit event and can be repeated without end, for all organizations of
/// an owner together. So nobody fills the disk on which every organization's log is.
///
/// Whatever takes access away is never counted, and so never refused: removing members, revoking keys and
/// invitations, archiving projects. Nor is the command line.
#[derive(Clone)]
pub(super) struct ChangeLimit(pub(super) Arc<dyn Throttle>);

impl ChangeLimit {
    /// Counts a change.
    ///
    /// # Errors
    /// The owner has made too many, or the store failed; then the change MUST NOT be made.
    pub(super) async fn count<E>(&self, authority: &Authority, now: DateTime<Utc>) -> Result<(), E>
    where
        E: From<Throttled> + From<StorageError>,
    {
        let Actor::User(owner) = authority.as_actor() else {
            return Ok(());
        };
        let bucket = ThrottleBucket::changes_by_owner(owner);
        match self.0.count_attempt(vec![bucket], now).await? {
            Some(full) => Err(full.throttled.into()),
            None => Ok(()),
        }
    }
}
