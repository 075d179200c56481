//! The scene of cases with expired records.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::scene::Scene;
use crate::api_key::ApiKey;
use crate::id::MembershipId;
use crate::membership::Member;
use crate::ports::DescendantKeys;
use crate::retention::SurplusKeys;

/// More than any case removes at once.
pub(super) const ALL: u32 = 1_000;

pub(super) const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

pub(super) const DAY: TimeDelta = TimeDelta::days(1);

impl Scene<Stores> {
    /// Removes keys that are dead by now, and says how many.
    pub(super) async fn remove_dead_keys(&self, at_most: u32) -> u32 {
        self.remove_keys_dead_before(self.now() + MILLISECOND, at_most)
            .await
    }

    pub(super) async fn remove_keys_dead_before(&self, moment: DateTime<Utc>, at_most: u32) -> u32 {
        let removed = self.stores.retention.remove_dead_keys(moment, at_most).await;
        removed.expect("dead keys are removed")
    }

    /// The member's surplus keys from before a moment.
    pub(super) fn surplus_of(&self, member: &Member, kept: u32, before: DateTime<Utc>) -> SurplusKeys {
        SurplusKeys {
            consumer: member.membership.id,
            kept,
            before,
        }
    }

    /// Removes the member's surplus keys from before now, and says how many.
    pub(super) async fn remove_surplus(&self, member: &Member, kept: u32, at_most: u32) -> u32 {
        self.remove_surplus_before(member, kept, self.now(), at_most)
            .await
    }

    pub(super) async fn remove_surplus_before(
        &self,
        member: &Member,
        kept: u32,
        before: DateTime<Utc>,
        at_most: u32,
    ) -> u32 {
        let surplus = self.surplus_of(member, kept, before);
        let removed = self.stores.retention.remove_surplus_keys(surplus, at_most).await;
        removed.expect("surplus keys are removed")
    }

    pub(super) async fn next_with_surplus(
        &self,
        after: Option<MembershipId>,
        kept: u32,
    ) -> Option<MembershipId> {
        let next = self.stores.retention.next_with_surplus_keys(after, kept).await;
        next.expect("the store answers")
    }

    /// Revokes a key alone.
    pub(super) async fn kill(&self, member: &Member, key: &ApiKey) {
        self.revoke(member, key, DescendantKeys::Keep).await;
    }

    /// Those of the given keys that are still stored.
    pub(super) async fn kept(&self, keys: &[ApiKey]) -> Vec<ApiKey> {
        let mut kept = Vec::new();
        for key in keys {
            if self.is_stored(key).await {
                kept.push(key.clone());
            }
        }
        kept
    }

    /// Adds keys and revokes them, one after the other.
    pub(super) async fn add_killed(&self, member: &Member, count: usize) -> Vec<ApiKey> {
        let mut keys = Vec::new();
        for _ in 0..count {
            let key = self.add_key(member, "ended").await;
            self.kill(member, &key).await;
            self.later(MILLISECOND);
            keys.push(self.stored(&key).await);
        }
        keys
    }

    /// Whether a search that begins before the member finds them.
    pub(super) async fn has_surplus(&self, member: &Member, kept: u32) -> bool {
        let mut found = self.next_with_surplus(None, kept).await;
        while found.is_some_and(|found| found < member.membership.id) {
            found = self.next_with_surplus(found, kept).await;
        }
        found == Some(member.membership.id)
    }
}
