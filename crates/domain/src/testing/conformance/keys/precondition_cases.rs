//! Cases of [`ApiKeys::edit`](crate::ports::ApiKeys::edit) and
//! [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke): preconditions on the key's version.

use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::scene::{MANY_CHANGES, Scene};
use crate::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition, KeyVersion, RevocationReason};
use crate::audit::{Action, Actor};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::ports::{DescendantKeys, EditKeyError, RevokeKeyError};

/// Enough concurrent calls to hit every gap between a check and its change.
const CROWD: usize = 32;

pub(super) async fn second_edit_of_the_same_version_is_refused(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "before").await;
    let seen = key.version();
    let edited = edit(&scene, &ada, key.id, "first", &[seen])
        .await
        .expect("edited");
    assert_ne!(edited.version(), seen);
    for name in ["second", "first", "before"] {
        let refused = edit(&scene, &ada, key.id, name, &[seen]).await;
        assert!(
            matches!(refused, Err(EditKeyError::PreconditionFailed)),
            "{refused:?}"
        );
    }
    assert_eq!(scene.stored(&key).await, edited);
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 1);

    let again = edit(&scene, &ada, key.id, "second", &[edited.version()]).await;
    assert_eq!(again.expect("edited").name.as_str(), "second");
}

pub(super) async fn edit_precondition_names_several_versions_or_none(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_key(&ada, "other").await;
    let key = scene.add_key(&ada, "before").await;
    let refused = edit(&scene, &ada, key.id, "after", &[]).await;
    assert!(
        matches!(refused, Err(EditKeyError::PreconditionFailed)),
        "{refused:?}"
    );
    assert_eq!(scene.stored(&key).await, key);

    let seen = [other.version(), key.version()];
    let edited = edit(&scene, &ada, key.id, "after", &seen).await;
    assert_eq!(edited.expect("edited").name.as_str(), "after");
}

pub(super) async fn concurrent_edits_of_one_version_apply_once(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..4 {
        let key = scene.add_key(&ada, &format!("key {round}")).await;
        let attempts = (0..CROWD).map(|number| {
            let (scene, ada, key) = (scene.clone(), ada.clone(), key.clone());
            let task: BoxFuture<'static, _> = Box::pin(async move {
                edit(&scene, &ada, key.id, &format!("name {number}"), &[key.version()]).await
            });
            task
        });
        let (edited, refused): (Vec<_>, Vec<_>) = scene
            .in_parallel(attempts)
            .await
            .into_iter()
            .partition(Result::is_ok);
        for error in refused {
            assert!(
                matches!(error, Err(EditKeyError::PreconditionFailed)),
                "{error:?}"
            );
        }
        let edited: Vec<ApiKey> = edited.into_iter().filter_map(Result::ok).collect();
        assert_eq!(edited, [scene.stored(&key).await], "one editor has seen the key");
        assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 1);
    }
}

pub(super) async fn revocation_of_another_version_revokes_nothing(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    let seen = root.version();
    let renamed = edit(&scene, &ada, root.id, "renamed", &[seen])
        .await
        .expect("edited");
    for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
        for seen in [vec![seen], vec![], vec![child.version()]] {
            let refused = revoke(&scene, &ada, root.id, descendants, &seen).await;
            assert!(
                matches!(refused, Err(RevokeKeyError::PreconditionFailed)),
                "{refused:?}"
            );
        }
    }
    assert_eq!(scene.stored(&root).await, renamed);
    assert_eq!(scene.stored(&child).await, child);
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &root).await, 0);

    // The version of the descendants does not matter.
    let present = [renamed.version()];
    let revoked = revoke(&scene, &ada, root.id, DescendantKeys::Revoke, &present).await;
    let mut revoked = revoked.expect("revoked");
    revoked.sort_unstable();
    assert_eq!(revoked, [root.id, child.id]);
}

pub(super) async fn repeated_revocation_succeeds_with_any_version(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    let keep = DescendantKeys::Keep;
    let revoked = revoke(&scene, &ada, root.id, keep, &[root.version()]).await;
    assert_eq!(revoked.expect("revoked"), [root.id]);
    for seen in [vec![root.version()], vec![child.version()], vec![]] {
        let repeated = revoke(&scene, &ada, root.id, keep, &seen).await;
        assert_eq!(repeated.expect("revoked before"), []);
    }

    // A revocation with descendants has a precondition, too.
    let with_descendants = DescendantKeys::Revoke;
    let refused = revoke(&scene, &ada, root.id, with_descendants, &[child.version()]).await;
    assert!(
        matches!(refused, Err(RevokeKeyError::PreconditionFailed)),
        "{refused:?}"
    );
    assert_eq!(scene.stored(&child).await, child);
    let revoked = revoke(&scene, &ada, root.id, with_descendants, &[root.version()]).await;
    assert_eq!(revoked.expect("revoked"), [child.id]);
    let repeated = revoke(&scene, &ada, root.id, with_descendants, &[]).await;
    assert_eq!(repeated.expect("revoked before"), []);
}

pub(super) async fn concurrent_edit_and_revocation_of_one_version_apply_once(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..16 {
        let key = scene.add_key(&ada, &format!("key {round}")).await;
        let edits = {
            let (scene, ada, key) = (scene.clone(), ada.clone(), key.clone());
            let task: BoxFuture<'static, Option<Action>> = Box::pin(async move {
                match edit(&scene, &ada, key.id, "edited", &[key.version()]).await {
                    Ok(_) => Some(Action::EditApiKey),
                    Err(EditKeyError::Revoked) => None,
                    Err(error) => panic!("{error}"),
                }
            });
            task
        };
        let revokes = {
            let (scene, ada, key) = (scene.clone(), ada.clone(), key.clone());
            let task: BoxFuture<'static, Option<Action>> = Box::pin(async move {
                match revoke(&scene, &ada, key.id, DescendantKeys::Keep, &[key.version()]).await {
                    Ok(revoked) => (revoked == [key.id]).then_some(Action::RevokeApiKey),
                    Err(RevokeKeyError::PreconditionFailed) => None,
                    Err(error) => panic!("{error}"),
                }
            });
            task
        };
        // In the order in which they came to an end.
        let happened: Vec<_> = scene
            .in_parallel([revokes, edits])
            .await
            .into_iter()
            .flatten()
            .collect();
        let is_valid = scene.stored(&key).await.is_valid(scene.now());
        let expected = if is_valid {
            Action::EditApiKey
        } else {
            Action::RevokeApiKey
        };
        assert_eq!(happened, [expected]);
    }
}

pub(super) async fn actor_and_key_state_are_reported_before_the_version(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let his = scene.add_key(&bob, "his").await;
    for unknown in [scene.id(), his.id] {
        let edited = edit(&scene, &ada, unknown, "new", &[]).await;
        assert!(matches!(edited, Err(EditKeyError::NotFound)), "{edited:?}");
        for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
            let revoked = revoke(&scene, &ada, unknown, descendants, &[]).await;
            assert!(matches!(revoked, Err(RevokeKeyError::NotFound)), "{revoked:?}");
        }
    }

    let key = scene.add_key(&ada, "key").await;
    let acting = scene.add_key(&ada, "acting").await;
    scene.revoke(&ada, &acting, DescendantKeys::Keep).await;
    let edited = edit(&scene, &ada, acting.id, "new", &[]).await;
    assert!(matches!(edited, Err(EditKeyError::Revoked)), "{edited:?}");
    let act = scene.act_as(Actor::ApiKey(acting.id), Some(ada.organization.id));
    let (keys, consumer, stale) = (
        &scene.stores.api_keys,
        ada.membership.id,
        KeyPrecondition::OneOf(Vec::new()),
    );
    let edited = keys
        .edit(
            consumer,
            key.id,
            name("new"),
            stale.clone(),
            MANY_CHANGES,
            act.clone(),
        )
        .await;
    assert!(matches!(edited, Err(EditKeyError::HolderGone)), "{edited:?}");
    let (reason, descendants) = (RevocationReason::Holder, DescendantKeys::Keep);
    let revoked = keys.revoke(consumer, key.id, reason.into(), descendants, stale, act);
    let revoked = revoked.await;
    assert!(matches!(revoked, Err(RevokeKeyError::HolderGone)), "{revoked:?}");
    assert_eq!(scene.stored(&key).await, key);
}

fn name(text: &str) -> KeyEdit {
    KeyEdit {
        name: Some(KeyName::parse(text).expect("a name")),
        ..KeyEdit::default()
    }
}

async fn edit(
    scene: &Scene,
    member: &Member,
    id: ApiKeyId,
    new_name: &str,
    seen: &[KeyVersion],
) -> Result<ApiKey, EditKeyError> {
    let precondition = KeyPrecondition::OneOf(seen.to_vec());
    let keys = &scene.stores.api_keys;
    keys.edit(
        member.membership.id,
        id,
        name(new_name),
        precondition,
        MANY_CHANGES,
        scene.act(member),
    )
    .await
}

async fn revoke(
    scene: &Scene,
    member: &Member,
    id: ApiKeyId,
    descendants: DescendantKeys,
    seen: &[KeyVersion],
) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
    let (consumer, act) = (member.membership.id, scene.act(member));
    let precondition = KeyPrecondition::OneOf(seen.to_vec());
    let keys = &scene.stores.api_keys;
    keys.revoke(
        consumer,
        id,
        RevocationReason::Holder.into(),
        descendants,
        precondition,
        act,
    )
    .await
}
