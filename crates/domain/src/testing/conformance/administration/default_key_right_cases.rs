//! Cases of [`OrganizationStore`](crate::administration::ports::OrganizationStore): the organization's
//! default for new keys.

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::as_user;
use crate::administration::ports::ChangeOrganizationError;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::membership::Member;
use crate::organization::Organization;
use crate::ports::NewApiKey;

pub(super) async fn default_key_right_applies_to_keys_created_later(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let before = scene.add_key(&ada, "before").await;
    for manage_keys in [false, true] {
        choose(&scene, as_user(&ada), &ada.organization, manage_keys)
            .await
            .expect("chosen");
        assert_eq!(chosen(&scene, &ada).await, manage_keys);
        let new = NewApiKey {
            organization_decides: true,
            ..scene.new_key(&ada, "after")
        };
        assert_eq!(scene.store(&ada, &new).await.can_manage_keys, manage_keys);
    }
    assert_eq!(scene.stored(&before).await, before);
}

pub(super) async fn default_key_right_change_writes_one_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    choose(&scene, as_user(&ada), &ada.organization, true)
        .await
        .expect("so already");
    assert_eq!(recorded(&scene, &ada, Action::EnableKeyManagement).await, []);

    for (manage_keys, action) in [
        (false, Action::DisableKeyManagement),
        (true, Action::EnableKeyManagement),
    ] {
        let act = scene.act(&ada);
        let expected = act.clone();
        let here = ada.organization.id;
        let organizations = &scene.stores.organizations;
        organizations
            .set_default_for_new_keys(here, manage_keys, act)
            .await
            .expect("chosen");
        choose(&scene, as_user(&ada), &ada.organization, manage_keys)
            .await
            .expect("so already");
        let events = recorded(&scene, &ada, action).await;
        let [event] = events.as_slice() else {
            panic!("one event, not {events:?}")
        };
        let expected = AuditEvent {
            id: event.id,
            ..expected.choice_for_new_keys(here, manage_keys)
        };
        assert_eq!(*event, scene.as_shown(expected).await);
    }
}

pub(super) async fn only_active_owners_and_administrators_set_the_default_key_right(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let before = scene.events(Some(ada.organization.id)).await;
    for (who, actor) in outsiders {
        let refused = choose(&scene, actor, &ada.organization, false).await;
        assert!(
            matches!(refused, Err(ChangeOrganizationError::NotAllowed)),
            "{who}: {refused:?}"
        );
    }
    assert!(chosen(&scene, &ada).await);
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);

    choose(&scene, Actor::Administrator, &ada.organization, false)
        .await
        .expect("an administrator may");
    assert!(!chosen(&scene, &ada).await);
}

pub(super) async fn default_key_right_is_per_organization(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    choose(&scene, as_user(&ada), &ada.organization, false)
        .await
        .expect("chosen");

    assert!(!chosen(&scene, &ada).await);
    assert!(chosen(&scene, &elsewhere).await);
}

pub(super) async fn default_key_right_is_unchanged_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let organizations = &scene.stores.organizations;
    let failed = organizations
        .set_default_for_new_keys(ada.organization.id, false, act)
        .await;

    assert!(
        matches!(failed, Err(ChangeOrganizationError::Storage(_))),
        "{failed:?}"
    );
    assert!(chosen(&scene, &ada).await);
}

pub(super) async fn default_key_right_change_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    abandon(choose(&scene, as_user(&ada), &ada.organization, false)).await;

    eventually("the abandoned choice is made", async || {
        recorded(&scene, &ada, Action::DisableKeyManagement).await.len() == 1
    })
    .await;
    assert!(!chosen(&scene, &ada).await);
}

async fn choose(
    scene: &Scene<Stores>,
    actor: Actor,
    organization: &Organization,
    manage_keys: bool,
) -> Result<(), ChangeOrganizationError> {
    let act = scene.act_as(actor, Some(organization.id));
    scene
        .stores
        .organizations
        .set_default_for_new_keys(organization.id, manage_keys, act)
        .await
}

/// The default of the member's organization for new keys.
async fn chosen(scene: &Scene<Stores>, member: &Member) -> bool {
    let memberships = &scene.stores.keys.memberships;
    let found = memberships
        .find_live(member.user.id, &member.organization.slug, scene.now())
        .await;
    let found = found.expect("the store answers").expect("a live member");
    found.organization.new_keys_manage_keys
}

async fn recorded(scene: &Scene<Stores>, member: &Member, action: Action) -> Vec<AuditEvent> {
    let id = member.organization.id;
    scene
        .events_about(Some(id), action, Subject::Organization(id))
        .await
}
