//! What the cases begin with in which things are over.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::scene::Scene;
use crate::api_key::ApiKey;
use crate::membership::Member;
use crate::ports::DescendantKeys;

/// A store of everything, and what makes its content.
pub(super) type RetentionScene = Scene<Stores>;

/// More than any case removes at once.
pub(super) const ALL: u32 = 1_000;

pub(super) const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

impl RetentionScene {
    /// Removes keys that are dead by now, and says how many.
    pub(super) async fn remove_dead_keys(&self, at_most: u32) -> u32 {
        self.remove_keys_dead_before(self.now() + MILLISECOND, at_most)
            .await
    }

    pub(super) async fn remove_keys_dead_before(&self, moment: DateTime<Utc>, at_most: u32) -> u32 {
        let removed = self.stores.retention.remove_dead_keys(moment, at_most).await;
        removed.expect("dead keys are removed")
    }

    /// Revokes a key alone.
    pub(super) async fn kill(&self, member: &Member, key: &ApiKey) {
        self.revoke(member, key, DescendantKeys::Keep).await;
    }

    /// Of these keys, those that are stored.
    pub(super) async fn kept(&self, keys: &[ApiKey]) -> Vec<ApiKey> {
        let mut kept = Vec::new();
        for key in keys {
            if self.is_stored(key).await {
                kept.push(key.clone());
            }
        }
        kept
    }
}
