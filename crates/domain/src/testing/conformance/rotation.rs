//! Rotations, as the cases begin them.

use super::KeyStores;
use super::scene::{MANY_CHANGES, Scene};
use crate::api_key::ApiKey;
use crate::audit::{Act, Actor};
use crate::membership::Member;
use crate::ports::{NewApiKey, NewRotation, RotateKeyError, RotationDraft};

impl<S: AsRef<KeyStores>> Scene<S> {
    /// A rotation of this key of the member, and its successor's token.
    pub(super) fn rotation_of(&self, member: &Member, key: &ApiKey, draft: RotationDraft) -> NewRotation {
        let NewApiKey {
            key: made, digest, ..
        } = self.new_key(member, "successor");
        NewRotation {
            consumer_id: member.membership.id,
            old_key: key.id,
            successor: made.id,
            hint: made.hint,
            digest,
            draft,
            idempotency_key: None,
        }
    }

    pub(super) async fn rotate_as(&self, new: &NewRotation, act: Act) -> Result<ApiKey, RotateKeyError> {
        let store = &self.stores.as_ref().api_keys;
        store.rotate(new.clone(), MANY_CHANGES, act).await
    }

    /// The signed-in member rotates a key; returns its successor.
    pub(super) async fn rotate(&self, member: &Member, key: &ApiKey, draft: RotationDraft) -> ApiKey {
        let new = self.rotation_of(member, key, draft);
        let rotated = self.rotate_as(&new, self.act(member)).await;
        rotated.expect("rotated")
    }

    /// An act of the member through this key.
    pub(super) fn act_of(&self, member: &Member, key: &ApiKey) -> Act {
        self.act_as(Actor::ApiKey(key.id), Some(member.organization.id))
    }
}
