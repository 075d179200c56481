//! How [`ProjectStore`](crate::administration::ports::ProjectStore) adds and shows projects.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::as_user;
use crate::administration::ports::{AddProjectError, ProjectFilter, ProjectOverview, ProjectStatus};
use crate::audit::{Action, Actor, Subject};
use crate::id::OrganizationId;
use crate::membership::Member;
use crate::page::PageSize;
use crate::project::Project;

pub(super) async fn project_reads_back_as_added(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.new_project(&ada.organization, "Ключ 🦀 'Notes' & \\ more");
    let act = scene.act(&ada);
    let projects = &scene.stores.projects;
    projects
        .add(project.clone().into(), act.clone())
        .await
        .expect("added");

    let here = ada.organization.id;
    assert_eq!(scene.project(here, project.id).await, Some(empty(&project)));
    let expected = act.event(Action::CreateProject, Subject::Project(project.id));
    let recorded = scene
        .events_about(Some(here), expected.action, expected.subject)
        .await;
    scene.assert_recorded(recorded, expected).await;
}

pub(super) async fn project_is_found_in_its_organization_only(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let other = scene.add_organization("Difference Engines").await;

    assert_eq!(scene.project(other.id, project.id).await, None);
    assert_eq!(scene.project(ada.organization.id, scene.id()).await, None);
    assert_eq!(
        listed(&scene, other.id, ProjectStatus::All, None, PageSize::MAX).await,
        []
    );
}

pub(super) async fn projects_are_listed_newest_first_and_by_status(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = ada.organization.id;
    let [first, second, third] = [
        scene.add_project(&ada.organization, "Notes").await,
        scene.add_project(&ada.organization, "Notes").await,
        scene.add_project(&ada.organization, "Engine").await,
    ];
    let archived_at = scene.later(TimeDelta::milliseconds(9));
    scene.archive(&second).await.expect("archived");
    let second = Project {
        archived_at: Some(archived_at),
        ..second
    };

    for (status, projects) in [
        (ProjectStatus::Active, vec![&third, &first]),
        (ProjectStatus::Archived, vec![&second]),
        (ProjectStatus::All, vec![&third, &second, &first]),
    ] {
        let shown = listed(&scene, here, status, None, PageSize::MAX).await;
        let projects: Vec<ProjectOverview> = projects.into_iter().map(empty).collect();
        assert_eq!(shown, projects, "{status:?}");
        assert_eq!(
            listed(&scene, here, status, None, 1).await,
            projects,
            "{status:?}"
        );
    }
}

pub(super) async fn pages_of_projects_form_the_whole_list(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for number in 0..7 {
        scene
            .add_project(&ada.organization, &format!("project {number}"))
            .await;
    }
    let here = ada.organization.id;
    let all = listed(&scene, here, ProjectStatus::Active, None, PageSize::MAX).await;

    assert_eq!(all.len(), 7);
    for size in 1..=8 {
        let pages = listed(&scene, here, ProjectStatus::Active, None, size).await;
        assert_eq!(pages, all, "by {size}");
    }
}

pub(super) async fn project_search_matches_names_literally(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for name in ["Élodie's Notes", "100%_\\", "Σίσυφος"] {
        scene.add_project(&ada.organization, name).await;
    }
    let other = scene.add_organization("Difference Engines").await;
    scene.add_project(&other, "Notes").await;

    for (term, found) in [
        ("NOTES", &["Élodie's Notes"][..]),
        ("e\u{301}LODIE'S", &["Élodie's Notes"]),
        (" Σ ", &["Σίσυφος"]),
        ("ΟΣ", &["Σίσυφος"]),
        ("%", &["100%_\\"]),
        ("_", &["100%_\\"]),
        ("\\", &["100%_\\"]),
        ("n%s", &[]),
        ("\0", &[]),
        ("", &["Σίσυφος", "100%_\\", "Élodie's Notes"]),
    ] {
        let here = ada.organization.id;
        let shown = listed(&scene, here, ProjectStatus::Active, Some(term), 2).await;
        let names: Vec<&str> = shown
            .iter()
            .map(|overview| overview.project.name.as_str())
            .collect();
        assert_eq!(names, found, "{term:?}");
    }
}

pub(super) async fn projects_are_found_by_exact_name(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = ada.organization.id;
    for name in ["Élodie's Notes", "Notes", "100%_\\", "Notes 2", "notes"] {
        scene.add_project(&ada.organization, name).await;
    }
    let archived = scene.add_project(&ada.organization, "Archived").await;
    scene.archive(&archived).await.expect("archived");
    let other = scene.add_organization("Difference Engines").await;
    scene.add_project(&other, "Notes").await;

    for (name, found) in [
        (" NOTES", &["notes", "Notes"][..]),
        ("e\u{301}LODIE'S notes", &["Élodie's Notes"]),
        ("100%_\\", &["100%_\\"]),
        ("archived", &["Archived"]),
        ("note", &[]),
        ("note_", &[]),
        ("n%", &[]),
        ("notes\0", &[]),
    ] {
        let shown = all_pages(size_of(1), |page| {
            let filter = ProjectFilter::named(name);
            scene.stores.projects.list(here, filter, page, scene.now())
        });
        let shown = shown.await;
        let names: Vec<&str> = shown
            .iter()
            .map(|overview| overview.project.name.as_str())
            .collect();
        assert_eq!(names, found, "{name:?}");
    }
}

pub(super) async fn only_active_owners_and_administrators_create_projects(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let here = ada.organization.id;
    let before = scene.events(Some(here)).await;
    for (who, actor) in outsiders {
        let refused = add_as(&scene, actor, &ada).await;
        assert!(
            matches!(refused, Err(AddProjectError::NotAllowed)),
            "{who}: {refused:?}"
        );
    }
    assert_eq!(scene.events(Some(here)).await, before);
    assert_eq!(
        listed(&scene, here, ProjectStatus::All, None, PageSize::MAX).await,
        []
    );

    for actor in [as_user(&ada), Actor::Administrator] {
        add_as(&scene, actor, &ada).await.expect("both may");
    }
}

pub(super) async fn project_is_not_added_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.new_project(&ada.organization, "Notes");
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = scene.stores.projects.add(project.clone().into(), act).await;

    assert!(matches!(failed, Err(AddProjectError::Storage(_))), "{failed:?}");
    assert_eq!(scene.project(ada.organization.id, project.id).await, None);
}

pub(super) async fn project_addition_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.new_project(&ada.organization, "Notes");
    let (here, subject) = (ada.organization.id, Subject::Project(project.id));
    abandon(scene.stores.projects.add(project.clone().into(), scene.act(&ada))).await;

    eventually("the abandoned project is added", async || {
        scene.project(here, project.id).await.is_some()
    })
    .await;
    let recorded = scene
        .events_about(Some(here), Action::CreateProject, subject)
        .await;
    assert_eq!(recorded.len(), 1);
}

fn empty(project: &Project) -> ProjectOverview {
    ProjectOverview {
        project: project.clone(),
        members: 0,
    }
}

async fn add_as(scene: &Scene<Stores>, actor: Actor, owner: &Member) -> Result<(), AddProjectError> {
    let project = scene.new_project(&owner.organization, "Notes");
    let act = scene.act_as(actor, Some(owner.organization.id));
    scene.stores.projects.add(project.into(), act).await
}

/// The projects of an organization that pass the filter, over all pages of that size.
async fn listed(
    scene: &Scene<Stores>,
    organization: OrganizationId,
    status: ProjectStatus,
    search: Option<&str>,
    size: u16,
) -> Vec<ProjectOverview> {
    let store = &scene.stores.projects;
    all_pages(size_of(size), |page| {
        store.list(
            organization,
            ProjectFilter::new(status, search),
            page,
            scene.now(),
        )
    })
    .await
}
