//! Cases of [`ApiKeys::edit`](crate::ports::ApiKeys::edit).

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{MANY_CHANGES, Scene, everything, expiry_in};
use crate::api_key::{ApiKey, ExpiryChange, KeyDescription, KeyEdit, KeyName, KeyPrecondition};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::ports::{DescendantKeys, EditKeyError};
use crate::validity::End;

pub(super) async fn edit_changes_only_the_given_fields(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "before").await;
    let renamed = edit(&scene, &ada, key.id, name("after")).await.expect("edited");
    assert_eq!(
        renamed,
        ApiKey {
            name: renamed.name.clone(),
            ..key.clone()
        }
    );
    assert_eq!(renamed.name.as_str(), "after");
    assert_eq!(scene.stored(&key).await, renamed);

    let described = edit(&scene, &ada, key.id, description("for\nnightly jobs"))
        .await
        .expect("edited");
    assert_eq!(described.name.as_str(), "after");
    assert_eq!(described.description.as_str(), "for\nnightly jobs");
    assert_eq!(scene.stored(&key).await, described);

    let emptied = edit(&scene, &ada, key.id, description("")).await.expect("edited");
    assert_eq!(emptied, renamed);

    let all = everything(scene.now());
    let edited = edit(&scene, &ada, key.id, all.clone()).await.expect("edited");
    let mut expected = key.clone();
    expected
        .apply(&all, None, None, Actor::User(ada.user.id))
        .expect("applied");
    assert_eq!(edited, expected);
    assert_eq!(scene.stored(&key).await, expected);
}

pub(super) async fn edit_writes_its_event(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "before").await;
    let act = scene.act(&ada);
    scene
        .stores
        .api_keys
        .edit(
            ada.membership.id,
            key.id,
            name("after"),
            KeyPrecondition::AnyVersion,
            MANY_CHANGES,
            act.clone(),
        )
        .await
        .expect("edited");

    let events = scene
        .events_about(
            Some(ada.organization.id),
            Action::EditApiKey,
            Subject::ApiKey(key.id),
        )
        .await;
    let [event] = events.as_slice() else {
        panic!("one event, not {events:?}")
    };
    let expected = AuditEvent {
        id: event.id,
        ..act.event(Action::EditApiKey, Subject::ApiKey(key.id))
    };
    assert_eq!(*event, scene.as_shown(expected).await);
}

pub(super) async fn ineffective_edit_writes_no_event(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "same").await;
    for unchanged in [KeyEdit::default(), name("same"), description("")] {
        let found = edit(&scene, &ada, key.id, unchanged).await.expect("edited");
        assert_eq!(found, key);
    }

    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 0);
}

pub(super) async fn edit_fails_when_event_cannot_be_written(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "before").await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let edited = scene
        .stores
        .api_keys
        .edit(
            ada.membership.id,
            key.id,
            name("after"),
            KeyPrecondition::AnyVersion,
            MANY_CHANGES,
            act,
        )
        .await;

    assert!(matches!(edited, Err(EditKeyError::Storage(_))), "{edited:?}");
    assert_eq!(scene.stored(&key).await, key);
}

pub(super) async fn edit_completes_after_caller_cancellation(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "before").await;
    abandon(scene.stores.api_keys.edit(
        ada.membership.id,
        key.id,
        name("after"),
        KeyPrecondition::AnyVersion,
        MANY_CHANGES,
        scene.act(&ada),
    ))
    .await;

    eventually("the abandoned edit happens", async || {
        scene.stored(&key).await.name.as_str() == "after"
    })
    .await;
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 1);
}

pub(super) async fn revoked_key_cannot_be_edited_in_store(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "old").await;
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    let revoked = scene.stored(&key).await;
    let other_end = |change| KeyEdit {
        expiry: Some(change),
        ..KeyEdit::default()
    };
    for attempt in [
        name("new"),
        KeyEdit::default(),
        name("old"),
        other_end(ExpiryChange::Remove),
        other_end(expiry_in(TimeDelta::days(1), scene.now())),
    ] {
        let refused = edit(&scene, &ada, key.id, attempt).await;
        assert!(matches!(refused, Err(EditKeyError::Revoked)), "{refused:?}");
    }

    assert_eq!(scene.stored(&key).await, revoked);
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 0);
}

pub(super) async fn no_key_is_edited_after_the_membership_ended(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    scene.end_membership(&ada).await;
    for actor in [Actor::User(ada.user.id), Actor::ApiKey(key.id)] {
        let refused = edit_as(&scene, &ada, actor, key.id, name("new")).await;
        assert!(matches!(refused, Err(EditKeyError::HolderGone)), "{refused:?}");
    }

    assert_eq!(scene.stored(&key).await, key);
}

pub(super) async fn revoked_key_edits_no_other_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.add_key(&ada, "key").await;
    let acting = scene.add_key(&ada, "acting").await;
    let his = scene.add_key(&bob, "his").await;
    let edited = edit_as(&scene, &ada, Actor::ApiKey(acting.id), key.id, name("new")).await;
    let edited = edited.expect("a valid key edits");
    scene.revoke(&ada, &acting, DescendantKeys::Keep).await;
    for gone in [acting.id, his.id, scene.id()] {
        for target in [key.id, acting.id, scene.id()] {
            let refused = edit_as(&scene, &ada, Actor::ApiKey(gone), target, name("newer")).await;
            assert!(matches!(refused, Err(EditKeyError::HolderGone)), "{refused:?}");
        }
    }

    assert_eq!(scene.stored(&key).await, edited);
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 1);
}

pub(super) async fn unknown_key_cannot_be_edited(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let refused = edit(&scene, &ada, scene.id(), name("new")).await;

    assert!(matches!(refused, Err(EditKeyError::NotFound)), "{refused:?}");
}

pub(super) async fn another_consumers_key_cannot_be_edited(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let valid = scene.add_key(&ada, "hers").await;
    let revoked = scene.add_key(&ada, "hers, once").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    for key in [&valid, &revoked] {
        let before = scene.stored(key).await;
        let refused = edit(&scene, &bob, key.id, name("his")).await;
        assert!(matches!(refused, Err(EditKeyError::NotFound)), "{refused:?}");
        assert_eq!(scene.stored(key).await, before);
        assert_eq!(scene.count_of(&bob, Action::EditApiKey, key).await, 0);
    }
}

pub(super) async fn concurrent_edits_preserve_each_others_fields(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "before").await;
    for round in 0..16 {
        let (new_name, new_description) = (format!("name {round}"), format!("description {round}"));
        let expiry = KeyEdit {
            expiry: Some(expiry_in(TimeDelta::hours(1 + round), scene.now())),
            ..KeyEdit::default()
        };
        let edits = [name(&new_name), description(&new_description), expiry].map(|change| {
            let (scene, ada) = (scene.clone(), ada.clone());
            let task: BoxFuture<'static, _> =
                Box::pin(async move { edit(&scene, &ada, key.id, change).await });
            task
        });
        for edited in scene.in_parallel(edits).await {
            edited.expect("edited");
        }
        let stored = scene.stored(&key).await;
        assert_eq!(stored.name.as_str(), new_name);
        assert_eq!(stored.description.as_str(), new_description);
        let end = scene.now() + TimeDelta::hours(1 + round);
        assert_eq!(stored.end(), Some(End::Planned(end)));
    }
}

fn name(text: &str) -> KeyEdit {
    KeyEdit {
        name: Some(KeyName::parse(text).expect("a name")),
        ..KeyEdit::default()
    }
}

fn description(text: &str) -> KeyEdit {
    KeyEdit {
        description: Some(KeyDescription::parse(text).expect("a description")),
        ..KeyEdit::default()
    }
}

async fn edit(scene: &Scene, member: &Member, id: ApiKeyId, change: KeyEdit) -> Result<ApiKey, EditKeyError> {
    edit_as(scene, member, Actor::User(member.user.id), id, change).await
}

async fn edit_as(
    scene: &Scene,
    member: &Member,
    actor: Actor,
    id: ApiKeyId,
    change: KeyEdit,
) -> Result<ApiKey, EditKeyError> {
    let act = scene.act_as(actor, Some(member.organization.id));
    scene
        .stores
        .api_keys
        .edit(
            member.membership.id,
            id,
            change,
            KeyPrecondition::AnyVersion,
            MANY_CHANGES,
            act,
        )
        .await
}
