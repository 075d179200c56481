//! Cases of [`Names`](crate::administration::ports::Names). Projects and invitations have their names in the
//! ports that keep them.

use std::collections::HashMap;

use super::super::Stores;
use super::super::scene::Scene;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::OrganizationId;
use crate::ports::DescendantKeys;
use crate::user::Username;

pub(super) async fn every_subject_of_the_organization_has_a_name(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "نظام القياس").await;
    let named = [
        (Subject::Organization(ada.organization.id), "Analytical Engines"),
        (Subject::User(ada.user.id), "ada"),
        (Subject::Membership(ada.membership.id), "ada"),
        (Subject::ApiKey(key.id), "نظام القياس"),
    ];

    let subjects = named.map(|(subject, _)| subject);
    let found = names(&scene, ada.organization.id, &subjects).await;
    assert_eq!(
        found,
        named.map(|(subject, name)| (subject, name.to_owned())).into()
    );
}

pub(super) async fn former_members_and_revoked_keys_keep_their_names(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "Deploy").await;
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    scene.end_membership(&ada).await;
    let subjects = [
        Subject::User(ada.user.id),
        Subject::Membership(ada.membership.id),
        Subject::ApiKey(key.id),
    ];

    assert_eq!(names(&scene, ada.organization.id, &subjects).await.len(), 3);
    let again = scene.join_also(&ada.user, &ada.organization).await;
    let subjects = [
        Subject::User(ada.user.id),
        Subject::Membership(again.membership.id),
    ];
    assert_eq!(names(&scene, ada.organization.id, &subjects).await.len(), 2);
}

pub(super) async fn names_of_other_organizations_subjects_are_not_returned(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "Deploy").await;
    let other = scene.add_organization("Difference Engines").await;
    scene.join(&other, "charles").await;
    let subjects = [
        Subject::Organization(ada.organization.id),
        Subject::User(ada.user.id),
        Subject::Membership(ada.membership.id),
        Subject::ApiKey(key.id),
    ];
    assert_eq!(names(&scene, other.id, &subjects).await, HashMap::new());

    // A user who belongs to both organizations has a name in both; their objects in one have no name in the
    // other.
    let also = scene.join_also(&ada.user, &other).await;
    let mine = scene.add_key(&also, "Other").await;
    let found = names(&scene, other.id, &subjects).await;
    assert_eq!(found, [(Subject::User(ada.user.id), "ada".to_owned())].into());
    let theirs = [Subject::Membership(also.membership.id), Subject::ApiKey(mine.id)];
    assert_eq!(names(&scene, ada.organization.id, &theirs).await, HashMap::new());
}

pub(super) async fn subjects_without_name_are_omitted(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let subjects = [
        Subject::Installation,
        Subject::Session(scene.id()),
        Subject::Organization(scene.id()),
        Subject::User(scene.id()),
        Subject::Membership(scene.id()),
        Subject::Invitation(scene.id()),
        Subject::Project(scene.id()),
        Subject::ApiKey(scene.id()),
    ];

    assert_eq!(
        names(&scene, ada.organization.id, &subjects).await,
        HashMap::new()
    );
    assert_eq!(names(&scene, ada.organization.id, &[]).await, HashMap::new());
}

pub(super) async fn names_of_a_full_page_are_found_in_one_call(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut subjects = Vec::new();
    for number in 0..120 {
        let key = scene.add_key(&ada, &format!("Key {number}")).await;
        // A subject may be asked for twice.
        subjects.extend([Subject::ApiKey(key.id), Subject::User(ada.user.id)]);
    }

    let found = names(&scene, ada.organization.id, &subjects).await;
    assert_eq!(found.len(), 121);
    assert_eq!(
        subjects
            .first()
            .and_then(|first| found.get(first))
            .map(String::as_str),
        Some("Key 0")
    );
}

pub(super) async fn subject_with_display_name_has_username_in_the_same_organizations(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "Deploy").await;
    let other = scene.add_organization("Difference Engines").await;
    let charles = scene.join(&other, "charles").await;
    let (user, membership) = (Subject::User(ada.user.id), Subject::Membership(ada.membership.id));
    let subjects = [
        user,
        membership,
        Subject::ApiKey(key.id),
        Subject::Organization(ada.organization.id),
        Subject::User(charles.user.id),
        Subject::Membership(charles.membership.id),
        Subject::Installation,
    ];
    let usernames = async |organization| {
        let found = scene.stores.names.identify(organization, &subjects).await;
        let found = found.expect("the store answers").into_iter();
        let usernames = found.filter_map(|(subject, named)| Some((subject, named.username?)));
        usernames.collect::<HashMap<_, _>>()
    };

    let username = ada.user.username.clone();
    let expected = HashMap::from([(user, username.clone()), (membership, username)]);
    assert_eq!(usernames(ada.organization.id).await, expected);
    scene.end_membership(&ada).await;
    assert_eq!(usernames(ada.organization.id).await, expected, "a former member");
}

pub(super) async fn keys_of_one_name_have_their_own_hints(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let keys = [
        scene.add_key(&ada, "Deploy").await,
        scene.add_key(&ada, "Deploy").await,
    ];
    let mut subjects = keys.clone().map(|key| Subject::ApiKey(key.id)).to_vec();
    subjects.push(Subject::User(ada.user.id));

    let found = scene.stores.names.identify(ada.organization.id, &subjects).await;
    let found = found.expect("the store answers").into_iter();
    let hints = found.filter_map(|(subject, named)| Some((subject, named.hint?)));
    let expected = keys.map(|key| (Subject::ApiKey(key.id), key.hint));
    assert_eq!(hints.collect::<HashMap<_, _>>(), HashMap::from(expected));
}

pub(super) async fn subject_of_any_kind_is_found_by_identifier(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "Deploy").await;
    let charles = scene.join(&ada.organization, "charles").await;
    scene.end_membership(&charles).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;

    for subject in [
        Subject::ApiKey(key.id),
        Subject::Membership(ada.membership.id),
        Subject::User(ada.user.id),
        Subject::Membership(charles.membership.id),
        Subject::User(charles.user.id),
        Subject::Organization(ada.organization.id),
    ] {
        let found = by_id(&scene, ada.organization.id, subject).await;
        assert_eq!(found, Some(subject));
    }
    for subject in [
        Subject::Membership(elsewhere.membership.id),
        Subject::Organization(other.id),
        Subject::User(scene.id()),
    ] {
        let found = by_id(&scene, ada.organization.id, subject).await;
        assert_eq!(found, None, "{subject:?}");
    }
    let key = by_id(&scene, other.id, Subject::ApiKey(key.id)).await;
    assert_eq!(key, None, "of another organization");
}

pub(super) async fn removed_subject_is_found_by_identifier_in_the_log(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let about = Subject::Membership(ada.membership.id);
    let (key, child, acting) = (scene.id(), scene.id(), scene.id());
    let gone = [
        Subject::ApiKey(key),
        Subject::ApiKey(child),
        Subject::ApiKey(acting),
        Subject::Project(scene.id()),
        Subject::Invitation(scene.id()),
        Subject::Membership(scene.id()),
        Subject::User(scene.id()),
    ];
    let mut recorded = gone.map(|subject| (Actor::Administrator, subject, None));
    recorded[1] = (Actor::Administrator, about, Some(Subject::ApiKey(child)));
    recorded[2] = (Actor::ApiKey(acting), about, None);
    for (actor, subject, object) in recorded {
        let act = scene.act_as(actor, Some(ada.organization.id));
        let event = AuditEvent {
            object,
            ..act.event(Action::RevokeApiKey, subject)
        };
        let recorded = scene.stores.keys.audit_log.record(event).await;
        recorded.expect("the store answers");
    }

    for subject in gone {
        let found = by_id(&scene, ada.organization.id, subject).await;
        assert_eq!(found, Some(subject));
        let elsewhere = by_id(&scene, other.id, subject).await;
        assert_eq!(elsewhere, None, "{subject:?}");
    }
}

pub(super) async fn user_is_found_by_name_in_own_organizations_only(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let find = async |organization: OrganizationId, username: &str| {
        let username = Username::parse(username).expect("a username");
        let found = scene.stores.names.find_user(organization, &username).await;
        found.expect("the store answers")
    };

    assert_eq!(find(ada.organization.id, "ada").await, Some(ada.user.id));
    assert_eq!(find(ada.organization.id, "nobody").await, None);
    assert_eq!(find(other.id, "ada").await, None);
    scene.end_membership(&ada).await;
    assert_eq!(
        find(ada.organization.id, "ada").await,
        Some(ada.user.id),
        "a former member"
    );
    scene.join_also(&ada.user, &ada.organization).await;
    assert_eq!(
        find(ada.organization.id, "ada").await,
        Some(ada.user.id),
        "invited again"
    );
}

pub(super) async fn users_are_found_across_organizations(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let charles = scene.join(&other, "charles").await;
    scene.join(&other, "babbage").await;
    scene.end_membership(&ada).await;
    let ids = [ada.user.id, scene.id(), charles.user.id, ada.user.id];
    let names = &scene.stores.names;

    let mut found = names.users(&ids).await.expect("the store answers");
    found.sort_by_key(|user| user.id);
    assert_eq!(found, [ada.user, charles.user]);
    assert_eq!(names.users(&[]).await.expect("the store answers"), []);
}

async fn by_id(scene: &Scene<Stores>, organization: OrganizationId, subject: Subject) -> Option<Subject> {
    let id = subject.id().expect("an identifier");
    let found = scene.stores.names.find_subject(organization, id).await;
    found.expect("the store answers")
}

async fn names(
    scene: &Scene<Stores>,
    organization: OrganizationId,
    subjects: &[Subject],
) -> HashMap<Subject, String> {
    let found = scene.stores.names.find(organization, subjects).await;
    found.expect("the store answers")
}
