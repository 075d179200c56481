//! Checks of the actor that are made too early, in an earlier transaction.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::{Act, Actor};
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
use keyward_domain::membership::Role;
use keyward_domain::ports::{Credentials, Memberships, StorageError};

use super::{BrokenStore, Fault, lock, pause};

impl BrokenStore {
    /// The keys that the acting key reaches now; `None` if it was revoked or its membership has ended. Other
    /// tasks run before this returns.
    pub(super) async fn reach_beforehand(
        &self,
        consumer: MembershipId,
        key: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Option<KeyReach>, StorageError> {
        let Some(digest) = lock(&self.digests).get(&key).copied() else {
            return Ok(None);
        };
        let found = Credentials::find(&self.sound, &digest).await?;
        pause().await;
        Ok(found
            .filter(|credential| credential.is_accepted(now) && credential.consumer.id == consumer)
            .map(|credential| KeyReach::of_key(key, credential.api_key.can_manage_keys)))
    }

    /// Whether the actor is the user of the consumer now. Other tasks run before this returns.
    pub(super) async fn is_member_beforehand(
        &self,
        consumer: MembershipId,
        actor: Actor,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let Actor::User(user) = actor else {
            return Ok(false);
        };
        let live = self.sound.list_live(user, now).await?;
        pause().await;
        Ok(live.iter().any(|member| member.membership.id == consumer))
    }

    /// The act that is passed to the sound store.
    pub(super) fn as_timed(&self, act: Act) -> Act {
        let is_late = act.at_current_time().at > act.at;
        if self.fault != Fault::UsesStartTimeOfAct || !is_late {
            return act;
        }
        let timed = Act::new(&self.beginning.ids, act.at, act.actor, act.source.clone());
        match act.organization_id {
            Some(organization) => timed.within(organization),
            None => timed,
        }
    }

    /// Remembers a changed key whose change the sound store would have refused.
    pub(super) fn keep_late(&self, key: ApiKey) -> ApiKey {
        lock(&self.late).insert(key.id, key.clone());
        key
    }

    /// Adds such keys of a consumer to the first page of its keys.
    pub(super) fn show_late(&self, consumer: MembershipId, keys: &mut Vec<ApiKey>) {
        for late in lock(&self.late)
            .values()
            .filter(|key| key.consumer_id == consumer)
        {
            keys.retain(|key| key.id != late.id);
            keys.push(late.clone());
        }
        keys.sort_by_key(|key| Reverse(key.id));
    }

    /// The actor that is passed to the sound store: an administrator if the user is an owner now, else an
    /// anonymous one.
    pub(super) async fn owner_beforehand(
        &self,
        organization: OrganizationId,
        actor: Actor,
        now: DateTime<Utc>,
    ) -> Result<Actor, StorageError> {
        let Actor::User(user) = actor else {
            return Ok(actor);
        };
        let memberships = self.sound.list_live(user, now).await?;
        pause().await;
        let is_owner = memberships
            .iter()
            .any(|member| member.organization.id == organization && member.membership.role == Role::Owner);
        Ok(if is_owner {
            Actor::Administrator
        } else {
            Actor::Anonymous
        })
    }

    /// Remembers the real actor of revocations.
    pub(super) fn were_revoked_by(&self, actor: Actor, keys: &[ApiKeyId]) {
        lock(&self.revokers).extend(keys.iter().map(|key| (*key, actor)));
    }
}
