//! How [`AccountStore`](crate::sign_in::ports::AccountStore) adds organizations.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::membership::{Member, Role};
use crate::organization::{Organization, Slug};
use crate::ports::StorageError;
use crate::sign_in::ports::NewOrganization;

pub(super) async fn additional_organization_has_its_first_owner_from_creation(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = new_organization(&scene, "Difference Engines", &ada);
    let events = creation(&scene, &new);
    let accounts = &scene.stores.accounts;
    let slug = accounts.add_organization(new.clone(), events.clone()).await;
    let slug = slug.expect("added");

    assert_eq!(slug, new.organization.slug);
    let expected = Member {
        user: ada.user.clone(),
        organization: new.organization.clone(),
        membership: new.owner.clone(),
    };
    let member = scene
        .stores
        .keys
        .memberships
        .find_live(ada.user.id, &slug, scene.now())
        .await
        .expect("the store answers");
    assert_eq!(member, Some(expected));
    let mut written = scene.events(Some(new.organization.id)).await;
    written.reverse();
    assert_eq!(written, scene.all_as_shown(events).await);
    assert_eq!(
        organizations(&scene).await,
        [ada.organization.clone(), new.organization]
    );
}

pub(super) async fn organization_is_found_by_its_full_slug(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = new_organization(&scene, "Difference Engines", &ada);
    add(&scene, &new).await.expect("added");
    let find = async |slug: &str| {
        let slug = Slug::parse(slug).expect("a slug");
        let found = scene.stores.accounts.find_organization(&slug).await;
        found.expect("the store answers")
    };

    for organization in organizations(&scene).await {
        assert_eq!(find(organization.slug.as_str()).await, Some(organization));
    }
    assert_eq!(find("difference-engines").await, Some(new.organization));
    for nothing in ["difference", "difference-engines-2", "engines"] {
        assert_eq!(find(nothing).await, None, "{nothing}");
    }
}

pub(super) async fn taken_slug_gets_the_next_number(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let x = "x".repeat(40);
    for (name, slug) in [
        ("Engines", "engines"),
        ("Engines 3", "engines-3"),
        ("ENGINES!", "engines-2"),
        ("Engines", "engines-4"),
        ("Analytical Engines", "analytical-engines-2"),
        (x.as_str(), x.as_str()),
        (x.as_str(), &format!("{}-2", "x".repeat(38))),
    ] {
        let new = new_organization(&scene, name, &ada);
        let added = add(&scene, &new).await.expect("added");
        assert_eq!(added, slug, "{name}");
        let stored = organizations(&scene).await;
        let stored = stored.iter().find(|other| other.id == new.organization.id);
        assert_eq!(stored.map(|stored| stored.slug.as_str()), Some(slug));
    }
}

pub(super) async fn concurrent_organizations_with_one_name_get_distinct_slugs(stores: Stores) {
    const CROWD: usize = 64;
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let attempts = (0..CROWD).map(|_| {
        let (scene, new) = (scene.clone(), new_organization(&scene, "Engines", &ada));
        let task: BoxFuture<'static, _> = Box::pin(async move { add(&scene, &new).await });
        task
    });
    let added: Result<Vec<String>, _> = scene.in_parallel(attempts).await.into_iter().collect();
    let mut added = added.expect("every one succeeds");
    added.sort_by_key(|slug| (slug.len(), slug.clone()));

    let mut expected = vec!["engines".to_owned()];
    expected.extend((2..=CROWD).map(|number| format!("engines-{number}")));
    assert_eq!(added, expected);
    assert_eq!(organizations(&scene).await.len(), CROWD + 1);
}

pub(super) async fn organization_is_not_added_when_events_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = new_organization(&scene, "Difference Engines", &ada);
    let mut events = creation(&scene, &new);
    if let Some(last) = events.pop() {
        events.push(scene.unwritable(last).await);
    }
    let failed = scene.stores.accounts.add_organization(new, events).await;

    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(
        organizations(&scene).await,
        std::slice::from_ref(&ada.organization)
    );
    let of_ada = scene
        .stores
        .keys
        .memberships
        .organizations_of(ada.user.id, scene.now())
        .await;
    assert_eq!(of_ada.expect("the store answers"), [ada.organization]);
}

pub(super) async fn organization_creation_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = new_organization(&scene, "Difference Engines", &ada);
    abandon(add(&scene, &new)).await;

    let is_among = |organizations: Vec<Organization>| {
        let mut ids = organizations.into_iter().map(|organization| organization.id);
        ids.any(|id| id == new.organization.id)
    };
    eventually("the abandoned organization is added", async || {
        is_among(organizations(&scene).await)
    })
    .await;
    let of_ada = scene
        .stores
        .keys
        .memberships
        .organizations_of(ada.user.id, scene.now())
        .await;
    assert!(is_among(of_ada.expect("the store answers")));
    assert_eq!(scene.events(Some(new.organization.id)).await.len(), 2);
}

fn new_organization(scene: &Scene<Stores>, name: &str, owner: &Member) -> NewOrganization {
    let organization = scene.make.organization(name);
    NewOrganization {
        owner: scene.make.membership(&organization, &owner.user, Role::Owner),
        organization,
    }
}

fn creation(scene: &Scene<Stores>, new: &NewOrganization) -> Vec<AuditEvent> {
    let id = new.organization.id;
    let act = scene.act_as(Actor::Administrator, Some(id));
    vec![
        act.event(Action::CreateOrganization, Subject::Organization(id)),
        act.event(Action::CreateMembership, Subject::Membership(new.owner.id)),
    ]
}

async fn add(scene: &Scene<Stores>, new: &NewOrganization) -> Result<String, StorageError> {
    let events = creation(scene, new);
    let added = scene.stores.accounts.add_organization(new.clone(), events).await;
    added.map(|slug| slug.to_string())
}

async fn organizations(scene: &Scene<Stores>) -> Vec<Organization> {
    let organizations = scene.stores.accounts.organizations().await;
    organizations.expect("the store answers")
}
