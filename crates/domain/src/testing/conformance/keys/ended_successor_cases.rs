//! Cases of the store of keys: a rotated key whose successor has ended.

use std::collections::HashSet;

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::scene::{MANY_CHANGES, Scene, expiry_in};
use crate::api_key::{ApiKey, ExpiryChange, Grace, KeyEdit, KeyPrecondition, OldKeyEnd, RevocationReason};
use crate::audit::{Action, Subject};
use crate::membership::Member;
use crate::ports::{AddKeyError, DescendantKeys, EditKeyError, KeyLimit, RotateKeyError, RotationDraft};
use crate::validity::End;

const DAY: TimeDelta = TimeDelta::days(1);

const CROWD: usize = 16;

fn ending(old_key_ends: OldKeyEnd) -> RotationDraft {
    RotationDraft {
        old_key_ends,
        expiry: None,
    }
}

impl Scene {
    /// A key that was rotated, and its successor, which was revoked.
    async fn with_ended_successor(&self, member: &Member, draft: RotationDraft) -> (ApiKey, ApiKey) {
        let key = self.add_key(member, "key").await;
        let successor = self.rotate(member, &key, draft).await;
        self.revoke(member, &successor, DescendantKeys::Keep).await;
        (self.stored(&key).await, successor)
    }

    async fn edit_end(
        &self,
        member: &Member,
        key: &ApiKey,
        change: ExpiryChange,
    ) -> Result<ApiKey, EditKeyError> {
        let edit = KeyEdit {
            expiry: Some(change),
            ..KeyEdit::default()
        };
        let (store, any) = (&self.stores.api_keys, KeyPrecondition::AnyVersion);
        store
            .edit(
                member.membership.id,
                key.id,
                edit,
                any,
                MANY_CHANGES,
                self.act(member),
            )
            .await
    }
}

pub(super) async fn key_whose_successor_ended_is_rotated_again(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for old_key_ends in [OldKeyEnd::After(Grace::MAX), OldKeyEnd::OnFirstUse] {
        let key = scene.add_key(&ada, "key").await;
        let revoked = scene.rotate(&ada, &key, ending(old_key_ends)).await;
        scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
        let expired = scene.rotate(&ada, &key, ending(old_key_ends)).await;
        assert_eq!((expired.rotated_from, expired.end()), (Some(key.id), None));
        scene.plan_revocation(&expired, scene.now() + DAY).await;
        scene.later(DAY);
        let before = scene.stored(&key).await;

        let live = scene.rotate(&ada, &key, ending(old_key_ends)).await;
        assert_eq!((live.rotated_from, live.rotated_to), (Some(key.id), None));
        assert_eq!(
            live.end(),
            None,
            "the end that a rotation planned is not passed on"
        );
        assert_eq!(scene.stored(&live).await, live);
        let old = scene.stored(&key).await;
        assert_eq!((old.rotated_to, old.end()), (Some(live.id), before.end()));
        let subject = Subject::ApiKey(key.id);
        let here = Some(ada.organization.id);
        let recorded = scene.events_about(here, Action::RotateApiKey, subject).await;
        let objects: HashSet<_> = recorded.iter().filter_map(|event| event.object).collect();
        let successors = [revoked.id, expired.id, live.id].map(Subject::ApiKey);
        assert_eq!(objects, HashSet::from(successors));

        let new = scene.rotation_of(&ada, &key, ending(old_key_ends));
        let refused = scene.rotate_as(&new, scene.act(&ada)).await;
        assert!(
            matches!(refused, Err(RotateKeyError::AlreadyRotated(id)) if id == live.id),
            "{refused:?}"
        );
    }
}

pub(super) async fn key_rotated_again_after_a_grace_ends_on_first_use(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let (key, _) = scene
        .with_ended_successor(&ada, ending(OldKeyEnd::After(Grace::MAX)))
        .await;
    scene.rotate(&ada, &key, ending(OldKeyEnd::OnFirstUse)).await;
    let rotated = scene.stored(&key).await;
    assert!(rotated.ends_on_first_use(), "{rotated:?}");
    assert_eq!(rotated.end(), key.end());
}

pub(super) async fn key_rotates_itself_again_once_its_successor_ended(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let (key, _) = scene.with_ended_successor(&ada, RotationDraft::default()).await;
    let draft = RotationDraft {
        expiry: expiry_in(DAY * 30, scene.now()).expiry(),
        ..RotationDraft::default()
    };
    let new = scene.rotation_of(&ada, &key, draft);
    let rotated = scene.rotate_as(&new, scene.act_of(&ada, &key)).await;
    let rotated = rotated.expect("its end is that of the first rotation");
    assert_eq!(rotated.end(), Some(End::Planned(scene.now() + DAY * 30)));
    assert_eq!(scene.stored(&key).await.end(), key.end());
}

pub(super) async fn ended_key_with_a_successor_is_not_rotated(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let (key, _) = scene.with_ended_successor(&ada, ending(OldKeyEnd::AtOnce)).await;
    let new = scene.rotation_of(&ada, &key, RotationDraft::default());
    let refused = scene.rotate_as(&new, scene.act(&ada)).await;
    assert!(matches!(refused, Err(RotateKeyError::Revoked)), "{refused:?}");
    assert_eq!(scene.stored(&key).await, key);
}

pub(super) async fn end_of_a_key_whose_successor_ended_is_moved(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for in_days in [Some(30), None] {
        let (key, ended) = scene.with_ended_successor(&ada, RotationDraft::default()).await;
        let change = in_days.map_or(ExpiryChange::Remove, |days| expiry_in(DAY * days, scene.now()));
        let edited = scene.edit_end(&ada, &key, change).await.expect("edited");
        assert_eq!(scene.stored(&key).await, edited);
        let end = in_days.map(|days| End::Planned(scene.now() + DAY * days));
        assert_eq!((edited.end(), edited.rotated_to), (end, Some(ended.id)));
        let reason = edited.revocation.as_ref().map(|planned| planned.reason);
        assert_eq!(reason, in_days.map(|_| RevocationReason::Expired));
        // The new end was chosen, not planned by a rotation, so a successor inherits it.
        let successor = scene.rotate(&ada, &edited, RotationDraft::default()).await;
        assert_eq!(scene.stored(&successor).await.end(), end);
    }
}

pub(super) async fn rotated_key_counts_as_one_with_its_last_successor(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let (key, _) = scene.with_ended_successor(&ada, RotationDraft::default()).await;
    scene.rotate(&ada, &key, RotationDraft::default()).await;
    let next = scene.new_key(&ada, "next");
    let refused = scene.try_add(&ada, &next, KeyLimit(1)).await;
    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(_))),
        "{refused:?}"
    );
    scene.try_add(&ada, &next, KeyLimit(2)).await.expect("added");
}

pub(super) async fn concurrent_rotations_after_an_ended_successor_make_one(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for is_revoked_meanwhile in [false, true] {
        let key = scene.add_key(&ada, "key").await;
        let first = scene.rotate(&ada, &key, ending(OldKeyEnd::OnFirstUse)).await;
        if !is_revoked_meanwhile {
            scene.revoke(&ada, &first, DescendantKeys::Keep).await;
        }
        let rotations = (0..CROWD).map(|_| {
            let new = scene.rotation_of(&ada, &key, ending(OldKeyEnd::OnFirstUse));
            let (scene, act) = (scene.clone(), scene.act(&ada));
            let task: BoxFuture<'static, _> =
                Box::pin(async move { Some((new.successor, scene.rotate_as(&new, act).await)) });
            task
        });
        let mut tasks: Vec<_> = rotations.collect();
        if is_revoked_meanwhile {
            let (scene, ada, first) = (scene.clone(), ada.clone(), first.clone());
            let revocation: BoxFuture<'static, _> = Box::pin(async move {
                scene.revoke(&ada, &first, DescendantKeys::Keep).await;
                None
            });
            tasks.insert(CROWD / 2, revocation);
        }
        let (rotated, refused): (Vec<_>, Vec<_>) = scene
            .in_parallel(tasks)
            .await
            .into_iter()
            .flatten()
            .partition(|(_, outcome)| outcome.is_ok());
        let rotated: Vec<_> = rotated.into_iter().map(|(successor, _)| successor).collect();
        // If all of them came before the revocation, each found the first successor still valid.
        let expected = if is_revoked_meanwhile { 0..=1 } else { 1..=1 };
        assert!(
            expected.contains(&rotated.len()),
            "one rotation wins: {rotated:?}"
        );
        let last = rotated.first().copied().unwrap_or(first.id);
        assert_eq!(scene.stored(&key).await.rotated_to, Some(last));
        for (_, refused) in refused {
            assert!(
                matches!(refused, Err(RotateKeyError::AlreadyRotated(id)) if [first.id, last].contains(&id)),
                "{refused:?}"
            );
        }
    }
}
