//! Revocations of other generations of keys than were selected.

use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, KeyPrecondition, RevocationCause};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::ports::{ApiKeys, DescendantKeys, RevokeKeyError, StorageError};

use super::{BrokenStore, Fault};

impl BrokenStore {
    /// The keys to revoke, if the fault is to find them in an earlier transaction, or to select other ones.
    pub(super) async fn targets(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        descendants: DescendantKeys,
        now: DateTime<Utc>,
    ) -> Result<Option<Vec<ApiKeyId>>, StorageError> {
        let generations = match (self.fault, descendants) {
            (Fault::FindsDescendantsBeforeTransaction, DescendantKeys::Revoke) => 1..usize::MAX,
            (Fault::RevokesUnselectedGrandchildren, DescendantKeys::Keep) => 2..usize::MAX,
            (Fault::KeepsGreatGrandchildren, DescendantKeys::Revoke) => 1..3,
            _ => return Ok(None),
        };
        let mut targets = vec![id];
        let mut are_others = self.fault == Fault::FindsDescendantsBeforeTransaction;
        for key in self.sound.valid_descendants(consumer, id, now).await? {
            let meant = generations.contains(&self.generations_below(consumer, id, &key).await?);
            // Without other generations than selected, the sound store revokes the same keys.
            are_others |= meant != (descendants == DescendantKeys::Revoke);
            if meant {
                targets.push(key.id);
            }
        }
        Ok(are_others.then_some(targets))
    }

    async fn generations_below(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        key: &ApiKey,
    ) -> Result<usize, StorageError> {
        let mut generations = 0;
        let mut above = key.effective_parent();
        while let Some(parent) = above {
            generations += 1;
            if parent == id {
                break;
            }
            let parent = ApiKeys::find(&self.sound, consumer, parent).await?;
            above = parent.and_then(|parent| parent.effective_parent());
        }
        Ok(generations)
    }

    pub(super) async fn revoke_one_by_one(
        &self,
        consumer: MembershipId,
        targets: Vec<ApiKeyId>,
        cause: &RevocationCause,
        act: &Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let mut revoked = Vec::new();
        for target in targets {
            let one = self.sound.revoke(
                consumer,
                target,
                cause.clone(),
                DescendantKeys::Keep,
                KeyPrecondition::AnyVersion,
                act.clone(),
            );
            revoked.extend(one.await?);
        }
        Ok(revoked)
    }
}
