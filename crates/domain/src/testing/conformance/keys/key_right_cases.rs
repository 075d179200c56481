//! Cases of the store of keys: keys that may not manage keys.

use super::super::KeyStores;
use super::super::scene::{AMPLE, MANY_CHANGES, Scene};
use crate::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition, RevocationReason};
use crate::audit::{Action, Actor};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::organization::Organization;
use crate::ports::{AddKeyError, DescendantKeys, EditKeyError, NewApiKey, RevokeKeyError};

pub(super) async fn key_keeps_its_right_to_manage_keys(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let manager = scene.add_key(&ada, "manager").await;
    for can_manage_keys in [true, false] {
        let mut from_person = scene.new_key(&ada, "by ada");
        let mut from_key = scene.new_child(&ada, manager.id, "by a key");
        for new in [&mut from_person, &mut from_key] {
            new.key.can_manage_keys = can_manage_keys;
            let added = scene.store(&ada, new).await;
            assert_eq!(added, new.key);
            let renamed = edit(&scene, &ada, Actor::User(ada.user.id), added.id, "renamed").await;
            assert_eq!(renamed.expect("edited").can_manage_keys, can_manage_keys);
            assert_eq!(scene.stored(&added).await.can_manage_keys, can_manage_keys);
        }
    }
}

pub(super) async fn credential_includes_the_right_to_manage_keys(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for can_manage_keys in [true, false] {
        let mut new = scene.new_key(&ada, "ci");
        new.key.can_manage_keys = can_manage_keys;
        scene.store(&ada, &new).await;
        let credential = scene.stores.credentials.find(&new.digest).await;
        let credential = credential.expect("the store answers").expect("known");
        assert_eq!(credential.api_key.can_manage_keys, can_manage_keys);
    }
}

pub(super) async fn key_creation_event_records_the_right_to_manage_keys(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let manager = scene.add_key(&ada, "manager").await;
    let restricted = scene.add_restricted(&ada, "restricted").await;

    for (key, action, other) in [
        (&manager, Action::CreateApiKey, Action::CreateRestrictedApiKey),
        (&restricted, Action::CreateRestrictedApiKey, Action::CreateApiKey),
    ] {
        assert_eq!(scene.count_of(&ada, action, key).await, 1);
        assert_eq!(scene.count_of(&ada, other, key).await, 0);
    }
}

pub(super) async fn restricted_key_creates_no_keys_in_store(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let restricted = scene.add_restricted(&ada, "restricted").await;
    for can_manage_keys in [true, false] {
        let mut new = scene.new_child(&ada, restricted.id, "child");
        new.key.can_manage_keys = can_manage_keys;
        for organization_decides in [false, true] {
            let new = NewApiKey {
                organization_decides,
                ..new.clone()
            };
            let refused = scene.try_add(&ada, &new, AMPLE).await;
            assert!(
                matches!(refused, Err(AddKeyError::MayNotManageKeys)),
                "{refused:?}"
            );
            assert!(!scene.is_stored(&new.key).await);
        }
    }

    scene.revoke(&ada, &restricted, DescendantKeys::Keep).await;
    let late = scene.new_child(&ada, restricted.id, "late");
    let refused = scene.try_add(&ada, &late, AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
}

pub(super) async fn restricted_key_edits_only_itself(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let (restricted, others) = restricted_among_others(&scene, &ada).await;
    let acts = Actor::ApiKey(restricted.id);
    for other in &others {
        let before = scene.stored(other).await;
        let refused = edit(&scene, &ada, acts, other.id, "stolen").await;
        assert!(matches!(refused, Err(EditKeyError::NotFound)), "{refused:?}");
        assert_eq!(scene.stored(other).await, before);
        assert_eq!(scene.count_of(&ada, Action::EditApiKey, other).await, 0);
    }
    let edited = edit(&scene, &ada, acts, restricted.id, "renamed").await;
    assert_eq!(edited.expect("its own name").name.as_str(), "renamed");

    scene.revoke(&ada, &restricted, DescendantKeys::Keep).await;
    let refused = edit(&scene, &ada, acts, others[0].id, "late").await;
    assert!(matches!(refused, Err(EditKeyError::HolderGone)), "{refused:?}");
}

pub(super) async fn restricted_key_revokes_only_itself(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
        let (restricted, others) = restricted_among_others(&scene, &ada).await;
        for other in &others {
            let before = scene.stored(other).await;
            let refused = revoke(&scene, &ada, restricted.id, other.id, descendants).await;
            assert!(matches!(refused, Err(RevokeKeyError::NotFound)), "{refused:?}");
            assert_eq!(scene.stored(other).await, before);
        }
        let revoked = revoke(&scene, &ada, restricted.id, restricted.id, descendants).await;
        assert_eq!(revoked.expect("itself"), [restricted.id]);
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &restricted).await, 1);

        let refused = revoke(&scene, &ada, restricted.id, others[0].id, descendants).await;
        assert!(matches!(refused, Err(RevokeKeyError::HolderGone)), "{refused:?}");
    }
}

pub(super) async fn unspecified_key_right_defaults_to_the_organizations_choice(stores: KeyStores) {
    let scene = Scene::new(stores);
    for (name, new_keys_manage_keys) in [("Open", true), ("Careful", false)] {
        let organization = Organization {
            new_keys_manage_keys,
            ..scene.make.organization(name)
        };
        scene.stores.arrange.add_organization(organization.clone()).await;
        let ada = scene.join(&organization, &name.to_lowercase()).await;
        let parent = scene.add_key(&ada, "asked to manage keys").await;
        assert!(scene.stored(&parent).await.can_manage_keys, "{name}");
        for can_manage_keys in [true, false] {
            let undecided = |new: NewApiKey| {
                let mut new = NewApiKey {
                    organization_decides: true,
                    ..new
                };
                new.key.can_manage_keys = can_manage_keys;
                new
            };
            for new in [
                undecided(scene.new_key(&ada, "by ada")),
                undecided(scene.new_child(&ada, parent.id, "by a key")),
            ] {
                let added = scene.store(&ada, &new).await;
                assert_eq!(added.can_manage_keys, new_keys_manage_keys, "{name}");
                assert_eq!(scene.stored(&added).await, added);
                let action = if new_keys_manage_keys {
                    Action::CreateApiKey
                } else {
                    Action::CreateRestrictedApiKey
                };
                assert_eq!(scene.count_of(&ada, action, &added).await, 1, "{name}");
            }
        }
        assert!(!scene.add_restricted(&ada, "asked not to").await.can_manage_keys);
    }
}

/// A key that may not manage keys, and others of the same consumer: its parent, a child of that, one from the
/// console, and a revoked one.
async fn restricted_among_others(scene: &Scene, ada: &Member) -> (ApiKey, Vec<ApiKey>) {
    let parent = scene.add_key(ada, "parent").await;
    let mut new = scene.new_child(ada, parent.id, "restricted");
    new.key.can_manage_keys = false;
    let restricted = scene.store(ada, &new).await;
    let sibling = scene.add_child(ada, &parent, "sibling").await;
    let other = scene.add_restricted(ada, "other").await;
    let revoked = scene.add_key(ada, "revoked").await;
    scene.revoke(ada, &revoked, DescendantKeys::Keep).await;
    (restricted, vec![parent, sibling, other, revoked])
}

async fn edit(
    scene: &Scene,
    member: &Member,
    actor: Actor,
    id: ApiKeyId,
    name: &str,
) -> Result<ApiKey, EditKeyError> {
    let act = scene.act_as(actor, Some(member.organization.id));
    let edit = KeyEdit {
        name: Some(KeyName::parse(name).expect("a name")),
        ..KeyEdit::default()
    };
    scene
        .stores
        .api_keys
        .edit(
            member.membership.id,
            id,
            edit,
            KeyPrecondition::AnyVersion,
            MANY_CHANGES,
            act,
        )
        .await
}

async fn revoke(
    scene: &Scene,
    member: &Member,
    acting: ApiKeyId,
    id: ApiKeyId,
    descendants: DescendantKeys,
) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
    let act = scene.act_as(Actor::ApiKey(acting), Some(member.organization.id));
    let reason = RevocationReason::Holder;
    scene
        .stores
        .api_keys
        .revoke(
            member.membership.id,
            id,
            reason.into(),
            descendants,
            KeyPrecondition::AnyVersion,
            act,
        )
        .await
}
