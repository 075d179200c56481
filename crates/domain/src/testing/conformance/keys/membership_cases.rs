//! Cases of [`Memberships`](crate::ports::Memberships).

use super::super::KeyStores;
use super::super::scene::Scene;
use crate::id::UserId;
use crate::membership::{Member, Role};
use crate::organization::{Organization, Slug};
use crate::user::{DisplayName, User};

pub(super) async fn active_member_is_found_completely(stores: KeyStores) {
    let scene = Scene::new(stores);
    let organization = scene.add_organization("Analytical Engines").await;
    let arrange = &scene.stores.arrange;
    for (username, role) in [("ada", Role::Owner), ("bob", Role::Member)] {
        let user = User {
            display_name: DisplayName::parse("A Name \u{645}\u{62d}").expect("a display name"),
            ..scene.make.user(username)
        };
        let membership = scene.make.membership(&organization, &user, role);
        arrange.add_user(user.clone()).await;
        arrange.add_membership(membership.clone()).await;

        let member = Member {
            user,
            organization: organization.clone(),
            membership,
        };
        let found = find(&scene, member.user.id, &organization.slug).await;
        assert_eq!(found, Some(member));
    }
}

pub(super) async fn former_member_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.end_membership(&ada).await;

    assert_eq!(find(&scene, ada.user.id, &ada.organization.slug).await, None);
    assert_eq!(organizations_of(&scene, ada.user.id).await, []);
}

pub(super) async fn member_invited_again_has_a_new_membership(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.end_membership(&ada).await;
    let again = scene.join_also(&ada.user, &ada.organization).await;

    assert_eq!(
        find(&scene, ada.user.id, &ada.organization.slug).await,
        Some(again)
    );
    assert_eq!(organizations_of(&scene, ada.user.id).await, [ada.organization]);
}

pub(super) async fn foreign_organization_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let strange = scene.add_organization("Difference Engines").await;
    let nowhere = Slug::parse("nowhere").expect("a slug");

    assert_eq!(find(&scene, ada.user.id, &strange.slug).await, None);
    assert_eq!(find(&scene, ada.user.id, &nowhere).await, None);
    assert_eq!(find(&scene, scene.id(), &ada.organization.slug).await, None);
}

pub(super) async fn user_has_a_separate_membership_in_each_organization(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;

    assert_eq!(
        find(&scene, ada.user.id, &ada.organization.slug).await,
        Some(ada.clone())
    );
    assert_eq!(
        find(&scene, ada.user.id, &other.slug).await,
        Some(elsewhere.clone())
    );
    scene.end_membership(&ada).await;
    assert_eq!(
        find(&scene, ada.user.id, &other.slug).await,
        Some(elsewhere),
        "leaving one is not leaving the other"
    );
}

pub(super) async fn organizations_of_a_user_are_sorted_by_name(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let zebra = scene.add_organization("Zebra").await;
    let babbage = scene.add_organization("Babbage").await;
    scene.add_organization("Not Hers").await;
    let abacus = scene.add_organization("Abacus, Once").await;
    let in_zebra = scene.join_also(&ada.user, &zebra).await;
    let in_babbage = scene.join_also(&ada.user, &babbage).await;
    let in_abacus = scene.join_also(&ada.user, &abacus).await;
    scene.end_membership(&in_abacus).await;
    scene.join(&zebra, "bob").await;

    assert_eq!(
        organizations_of(&scene, ada.user.id).await,
        [ada.organization.clone(), babbage, zebra]
    );
    assert_eq!(list_live(&scene, ada.user.id).await, [ada, in_babbage, in_zebra]);
    assert_eq!(organizations_of(&scene, scene.id()).await, []);
    assert_eq!(list_live(&scene, scene.id()).await, []);
}

async fn find(scene: &Scene, user: UserId, organization: &Slug) -> Option<Member> {
    scene
        .stores
        .memberships
        .find_live(user, organization, scene.now())
        .await
        .expect("the store answers")
}

async fn organizations_of(scene: &Scene, user: UserId) -> Vec<Organization> {
    scene
        .stores
        .memberships
        .organizations_of(user, scene.now())
        .await
        .expect("the store answers")
}

async fn list_live(scene: &Scene, user: UserId) -> Vec<Member> {
    scene
        .stores
        .memberships
        .list_live(user, scene.now())
        .await
        .expect("the store answers")
}
