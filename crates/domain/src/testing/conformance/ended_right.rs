//! Races between concurrent acts of a holder, signed in or through a key, and the end of the right to them.

use futures_util::future::BoxFuture;

use super::KeyStores;
use super::pages::{all_pages, size_of};
use super::scene::{AMPLE, MANY_CHANGES, Scene};
use crate::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition, RevocationReason};
use crate::audit::Actor;
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::{
    AddKeyError, DescendantKeys, EditKeyError, KeyFilter, RevokeKeyError, RotateKeyError, RotationDraft,
    StatusFilter,
};

/// Each is another chance for a check to come too early.
pub(super) const ROUNDS: usize = 8;
const ACTS: usize = 16;

/// Concurrent acts of a holder.
pub(super) type Acts = Vec<BoxFuture<'static, ()>>;

impl<S: AsRef<KeyStores> + Clone + Send + Sync + 'static> Scene<S> {
    /// Adds keys, each through the key for its number, or signed in.
    pub(super) fn additions(&self, holder: &Member, through: impl Fn(usize) -> Option<ApiKeyId>) -> Acts {
        let additions = (0..ACTS).map(|number| {
            let (scene, holder) = (self.clone(), holder.clone());
            let name = format!("key {number}");
            let new = match through(number) {
                Some(key) => scene.new_child(&holder, key, &name),
                None => scene.new_key(&holder, &name),
            };
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let added = scene.try_add(&holder, &new, AMPLE).await;
                assert!(matches!(added, Ok(_) | Err(AddKeyError::HolderGone)), "{added:?}");
            });
            act
        });
        additions.collect()
    }

    /// Gives one key other names, likewise.
    pub(super) async fn edits(&self, holder: &Member, through: impl Fn(usize) -> Option<ApiKeyId>) -> Acts {
        let (consumer, key) = (holder.membership.id, self.add_key(holder, "key").await.id);
        let edits = (0..ACTS).map(|number| {
            let actor = through(number).map_or(Actor::User(holder.user.id), Actor::ApiKey);
            let act = self.act_as(actor, Some(holder.organization.id));
            let edit = KeyEdit {
                name: Some(KeyName::parse(&format!("name {number}")).expect("a name")),
                ..KeyEdit::default()
            };
            let scene = self.clone();
            let edited: BoxFuture<'static, ()> = Box::pin(async move {
                let (any, store) = (KeyPrecondition::AnyVersion, &scene.stores.as_ref().api_keys);
                let edited = store.edit(consumer, key, edit, any, MANY_CHANGES, act).await;
                assert!(
                    matches!(edited, Ok(_) | Err(EditKeyError::HolderGone)),
                    "{edited:?}"
                );
            });
            edited
        });
        edits.collect()
    }

    /// Rotates keys, likewise.
    pub(super) async fn rotations(
        &self,
        holder: &Member,
        through: impl Fn(usize) -> Option<ApiKeyId>,
    ) -> Acts {
        let mut rotations: Acts = Vec::new();
        for number in 0..ACTS {
            let key = self.add_key(holder, &format!("key {number}")).await;
            let new = self.rotation_of(holder, &key, RotationDraft::default());
            let actor = through(number).map_or(Actor::User(holder.user.id), Actor::ApiKey);
            let act = self.act_as(actor, Some(holder.organization.id));
            let scene = self.clone();
            rotations.push(Box::pin(async move {
                let rotated = scene.rotate_as(&new, act).await;
                assert!(
                    matches!(rotated, Ok(_) | Err(RotateKeyError::HolderGone)),
                    "{rotated:?}"
                );
            }));
        }
        rotations
    }

    /// Revokes keys through one of them, because a signed-in former member may still revoke.
    pub(super) async fn revocations(&self, holder: &Member, through: ApiKeyId) -> Acts {
        let consumer = holder.membership.id;
        let mut revocations: Acts = Vec::new();
        for number in 0..ACTS {
            let key = self.add_key(holder, &format!("key {number}")).await.id;
            let act = self.act_as(Actor::ApiKey(through), Some(holder.organization.id));
            let scene = self.clone();
            revocations.push(Box::pin(async move {
                let (alone, any) = (DescendantKeys::Keep, KeyPrecondition::AnyVersion);
                let store = &scene.stores.as_ref().api_keys;
                let revoked = store.revoke(consumer, key, RevocationReason::Holder.into(), alone, any, act);
                let revoked = revoked.await;
                assert!(
                    matches!(revoked, Ok(_) | Err(RevokeKeyError::HolderGone)),
                    "{revoked:?}"
                );
            }));
        }
        revocations
    }

    /// Lets a holder act, and ends their right in the middle: the records at the time of that answer must be
    /// final.
    pub(super) async fn assert_nothing_follows(
        &self,
        holder: &Member,
        acts: Acts,
        end: impl Future<Output = ()> + Send + 'static,
    ) {
        let (scene, ended) = (self.clone(), holder.clone());
        let end: BoxFuture<'static, Vec<ApiKey>> = Box::pin(async move {
            end.await;
            scene.keys_of(&ended).await
        });
        let when_answered = self.in_parallel_with_an_end(acts.into_iter(), end).await;
        let afterwards = self.keys_of(holder).await;
        assert_eq!(afterwards, when_answered, "nothing came after the answer");
    }

    async fn keys_of(&self, holder: &Member) -> Vec<ApiKey> {
        let (consumer, store) = (holder.membership.id, &self.stores.as_ref().api_keys);
        all_pages(size_of(PageSize::MAX), |page| {
            let all = KeyFilter::new(StatusFilter::All, None);
            store.list(consumer, all, page, self.now())
        })
        .await
    }
}
