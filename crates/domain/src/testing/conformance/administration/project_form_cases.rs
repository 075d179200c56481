//! How [`ProjectStore::add`](crate::administration::ports::ProjectStore::add) treats a form that is sent
//! again.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::CROWD;
use crate::administration::ports::AddProjectError;
use crate::audit::{Action, Subject};
use crate::id::ProjectId;
use crate::keys::IdempotencyKey;
use crate::membership::{Member, Role};
use crate::project::NewProject;

pub(super) async fn project_form_creates_one_project_even_after_archival(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.idempotency_key();
    let first = filled_in(&scene, &ada, key);
    send(&scene, &ada, &first).await.expect("added");
    assert_repeats(&scene, &ada, key, first.project.id).await;

    scene.archive(&first.project).await.expect("archived");
    assert_repeats(&scene, &ada, key, first.project.id).await;
    send(&scene, &ada, &filled_in(&scene, &ada, scene.idempotency_key()))
        .await
        .expect("another form adds another project");
}

async fn assert_repeats(scene: &Scene<Stores>, owner: &Member, key: IdempotencyKey, first: ProjectId) {
    let again = filled_in(scene, owner, key);
    match send(scene, owner, &again).await {
        Err(AddProjectError::AlreadyCreated(created)) => assert_eq!(created, first),
        other => panic!("a form creates one project: {other:?}"),
    }
    let here = owner.organization.id;
    assert_eq!(scene.project(here, again.project.id).await, None);
    let subject = Subject::Project(again.project.id);
    let recorded = scene
        .events_about(Some(here), Action::CreateProject, subject)
        .await;
    assert_eq!(recorded, []);
}

pub(super) async fn projects_of_two_organizations_may_use_one_idempotency_key(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let elsewhere = scene.add_organization("Elsewhere").await;
    let stranger = scene.join_as(&elsewhere, "stranger", Role::Owner).await;
    let key = scene.idempotency_key();
    for owner in [&ada, &stranger] {
        let new = filled_in(&scene, owner, key);
        send(&scene, owner, &new).await.expect("added");
    }
}

pub(super) async fn form_state_is_hidden_from_members_who_cannot_create_projects(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.idempotency_key();
    send(&scene, &ada, &filled_in(&scene, &ada, key))
        .await
        .expect("added");

    let refused = send(&scene, &bob, &filled_in(&scene, &bob, key)).await;
    assert!(matches!(refused, Err(AddProjectError::NotAllowed)), "{refused:?}");
}

pub(super) async fn concurrent_submissions_of_one_form_create_one_project(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.idempotency_key();
    let sendings = (0..CROWD).map(|_| {
        let (scene, ada) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let new = filled_in(&scene, &ada, key);
            send(&scene, &ada, &new).await.map(|()| new.project.id)
        });
        task
    });
    let mut added = Vec::new();
    let mut refused = Vec::new();
    for answer in scene.in_parallel(sendings).await {
        match answer {
            Ok(id) => added.push(id),
            Err(AddProjectError::AlreadyCreated(first)) => refused.push(first),
            Err(error) => panic!("{error:?}"),
        }
    }
    let [created] = added.as_slice() else {
        panic!("one form creates one project, not {added:?}")
    };
    assert_eq!(refused, vec![*created; CROWD - 1]);
}

pub(super) async fn refused_project_form_can_be_submitted_again(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = filled_in(&scene, &ada, scene.idempotency_key());
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = scene.stores.projects.add(new.clone(), act).await;
    assert!(matches!(failed, Err(AddProjectError::Storage(_))), "{failed:?}");

    send(&scene, &ada, &new).await.expect("added");
}

/// The project of a form with this idempotency key.
fn filled_in(scene: &Scene<Stores>, sender: &Member, key: IdempotencyKey) -> NewProject {
    NewProject {
        project: scene.new_project(&sender.organization, "Notes"),
        idempotency_key: Some(key),
    }
}

async fn send(scene: &Scene<Stores>, sender: &Member, new: &NewProject) -> Result<(), AddProjectError> {
    let act = scene.act(sender);
    scene.stores.projects.add(new.clone(), act).await
}
