//! Cases of [`ReachableProjects`](crate::ports::ReachableProjects).

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::as_user;
use crate::id::ProjectId;
use crate::membership::Member;
use crate::page::PageSize;
use crate::project::{Project, ProjectChange};

pub(super) async fn consumer_reaches_its_own_projects_newest_first(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let [first, second, not_his] = [
        scene.add_project(&ada.organization, "first").await,
        scene.add_project(&ada.organization, "second").await,
        scene.add_project(&ada.organization, "not his").await,
    ];
    // Not in the order of their creation.
    for project in [&second, &first] {
        scene.assign(project, &bob).await.expect("added");
    }

    assert_eq!(
        scene.reached(&bob, PageSize::MAX).await,
        [second.clone(), first.clone()]
    );
    assert_eq!(find(&scene, &bob, first.id).await, Some(first));
    assert_eq!(find(&scene, &bob, not_his.id).await, None);
    assert_eq!(find(&scene, &bob, scene.id()).await, None);
    assert_eq!(
        scene.reached(&ada, PageSize::MAX).await,
        [],
        "owners are no exception"
    );
    assert_eq!(find(&scene, &ada, second.id).await, None);
}

pub(super) async fn pages_of_reachable_projects_form_the_whole_list(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for number in 0..7 {
        let project = scene
            .add_project(&ada.organization, &format!("project {number}"))
            .await;
        scene.assign(&project, &ada).await.expect("added");
    }
    let all = scene.reached(&ada, PageSize::MAX).await;

    assert_eq!(all.len(), 7);
    for size in 1..=8 {
        assert_eq!(scene.reached(&ada, size).await, all, "by {size}");
    }
}

pub(super) async fn archived_project_is_unreachable_until_restored(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.assign(&project, &ada).await.expect("added");
    scene.archive(&project).await.expect("archived");
    assert_not_reached(&scene, &ada, &project).await;

    let (act, projects) = (scene.act(&ada), &scene.stores.projects);
    projects
        .change(ada.organization.id, project.id, ProjectChange::Restore, act)
        .await
        .expect("restored");
    assert_eq!(
        scene.reached(&ada, PageSize::MAX).await,
        std::slice::from_ref(&project)
    );
    assert_eq!(find(&scene, &ada, project.id).await, Some(project));
}

pub(super) async fn member_removed_from_a_project_cannot_reach_it(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.assign(&project, &bob).await.expect("added");
    let (here, projects) = (ada.organization.id, &scene.stores.projects);
    projects
        .remove_member(here, project.id, bob.membership.id, scene.act(&ada))
        .await
        .expect("removed");

    assert_not_reached(&scene, &bob, &project).await;
}

pub(super) async fn former_member_reaches_nothing_and_returns_without_projects(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let cleo = scene.join(&ada.organization, "cleo").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    for member in [&bob, &cleo] {
        scene.assign(&project, member).await.expect("added");
    }
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    // Without `MemberStore::end`, which would also remove the member from the projects.
    scene.end_membership(&cleo).await;

    for former in [&bob, &cleo] {
        assert_not_reached(&scene, former, &project).await;
        let again = scene.join_also(&former.user, &ada.organization).await;
        assert_not_reached(&scene, &again, &project).await;
    }
}

pub(super) async fn user_of_two_organizations_reaches_each_organizations_projects_separately(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let here = scene.add_project(&ada.organization, "here").await;
    let there = scene.add_project(&other, "there").await;
    scene.assign(&here, &ada).await.expect("added");
    scene.assign(&there, &elsewhere).await.expect("added");

    assert_eq!(
        scene.reached(&ada, PageSize::MAX).await,
        std::slice::from_ref(&here)
    );
    assert_eq!(
        scene.reached(&elsewhere, PageSize::MAX).await,
        std::slice::from_ref(&there)
    );
    assert_eq!(find(&scene, &ada, there.id).await, None);
    assert_eq!(find(&scene, &elsewhere, here.id).await, None);
}

async fn assert_not_reached(scene: &Scene<Stores>, member: &Member, project: &Project) {
    assert_eq!(scene.reached(member, PageSize::MAX).await, []);
    assert_eq!(find(scene, member, project.id).await, None);
}

async fn find(scene: &Scene<Stores>, member: &Member, id: ProjectId) -> Option<Project> {
    scene
        .stores
        .reachable_projects
        .find(member.membership.id, id, scene.now())
        .await
        .expect("the store answers")
}
