//! How [`ProjectStore`](crate::administration::ports::ProjectStore) renames, archives and restores projects.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::as_user;
use crate::administration::ports::{ChangeProjectError, ProjectFilter, ProjectStatus};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::page::{PageRequest, PageSize};
use crate::project::{Project, ProjectChange, ProjectName};

/// Each way to change a project.
fn changes() -> [ProjectChange; 3] {
    let name = ProjectName::parse("another name").expect("a name");
    [
        ProjectChange::Rename(name),
        ProjectChange::Archive,
        ProjectChange::Restore,
    ]
}

pub(super) async fn renamed_project_is_found_by_its_new_name(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let (here, projects) = (ada.organization.id, &scene.stores.projects);
    let engine = ProjectName::parse("Engine").expect("a name");
    let rename = ProjectChange::Rename(engine.clone());
    let act = scene.act(&ada);
    let changed = projects.change(here, project.id, rename, act.clone());
    changed.await.expect("renamed");

    let renamed = Project {
        name: engine,
        ..project.clone()
    };
    assert_eq!(stored(&scene, &project).await, renamed);
    for (term, found) in [("engine", 1), ("notes", 0)] {
        let filter = ProjectFilter::new(ProjectStatus::All, Some(term));
        let page = PageRequest::first(PageSize::DEFAULT);
        let page = projects
            .list(here, filter, page, scene.now())
            .await
            .expect("the store answers");
        assert_eq!(page.items.len(), found, "{term}");
    }
    let recorded = recorded(&scene, Action::RenameProject, &project).await;
    let expected = act.event(Action::RenameProject, Subject::Project(project.id));
    scene.assert_recorded(recorded, expected).await;
}

pub(super) async fn archived_project_keeps_its_archival_time_until_restored(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let archived_at = scene.later(TimeDelta::milliseconds(3));
    scene.archive(&project).await.expect("archived");
    scene.later(TimeDelta::seconds(1));
    scene.archive(&project).await.expect("archived already");

    let archived = Project {
        archived_at: Some(archived_at),
        ..project.clone()
    };
    assert_eq!(stored(&scene, &project).await, archived);
    assert_eq!(recorded(&scene, Action::ArchiveProject, &project).await.len(), 1);

    for _ in 0..2 {
        change(&scene, as_user(&ada), ProjectChange::Restore, &project)
            .await
            .expect("restored");
    }
    assert_eq!(stored(&scene, &project).await, project);
    assert_eq!(recorded(&scene, Action::RestoreProject, &project).await.len(), 1);
}

pub(super) async fn unchanged_project_name_writes_no_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let rename = ProjectChange::Rename(project.name.clone());
    let unchanged = change(&scene, as_user(&ada), rename, &project).await;
    unchanged.expect("nothing to do");

    assert_eq!(recorded(&scene, Action::RenameProject, &project).await, []);
}

pub(super) async fn only_active_owners_and_administrators_change_projects(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let active = scene.add_project(&ada.organization, "Notes").await;
    let archived = scene.add_project(&ada.organization, "Old").await;
    scene.archive(&archived).await.expect("archived");
    let (here, archived) = (Some(ada.organization.id), stored(&scene, &archived).await);
    let before = scene.events(here).await;
    for (who, actor) in outsiders {
        for made in changes() {
            for project in [&active, &archived] {
                let refused = change(&scene, actor, made.clone(), project).await;
                assert!(
                    matches!(refused, Err(ChangeProjectError::NotAllowed)),
                    "{who}: {refused:?}"
                );
            }
        }
    }
    for project in [&active, &archived] {
        assert_eq!(stored(&scene, project).await, *project);
    }
    assert_eq!(scene.events(here).await, before);

    for made in changes() {
        change(&scene, Actor::Administrator, made, &archived)
            .await
            .expect("an administrator may");
    }
}

pub(super) async fn only_projects_of_the_organization_are_changed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let theirs = scene.add_project(&other, "Theirs").await;
    for id in [theirs.id, scene.id()] {
        let pretended = Project {
            id,
            organization_id: ada.organization.id,
            ..theirs.clone()
        };
        for made in changes() {
            let refused = change(&scene, as_user(&ada), made, &pretended).await;
            assert!(
                matches!(refused, Err(ChangeProjectError::NotFound)),
                "{refused:?}"
            );
        }
    }

    assert_eq!(stored(&scene, &theirs).await, theirs);
}

pub(super) async fn project_is_unchanged_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let active = scene.add_project(&ada.organization, "Notes").await;
    let archived = scene.add_project(&ada.organization, "Old").await;
    scene.archive(&archived).await.expect("archived");
    let archived = stored(&scene, &archived).await;
    for (made, project) in changes().into_iter().zip([&active, &active, &archived]) {
        let act = scene.unwritable_act(scene.act(&ada)).await;
        let (projects, here) = (&scene.stores.projects, ada.organization.id);
        let failed = projects.change(here, project.id, made, act).await;
        assert!(
            matches!(failed, Err(ChangeProjectError::Storage(_))),
            "{failed:?}"
        );
        assert_eq!(stored(&scene, project).await, *project);
    }
}

pub(super) async fn project_change_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    for made in changes() {
        let (before, action) = (stored(&scene, &project).await, made.action());
        abandon(change(&scene, as_user(&ada), made, &project)).await;
        eventually("the abandoned change is made", async || {
            recorded(&scene, action, &project).await.len() == 1
        })
        .await;
        assert_ne!(stored(&scene, &project).await, before);
    }
}

async fn change(
    scene: &Scene<Stores>,
    actor: Actor,
    change: ProjectChange,
    project: &Project,
) -> Result<(), ChangeProjectError> {
    let act = scene.act_as(actor, Some(project.organization_id));
    let (projects, organization) = (&scene.stores.projects, project.organization_id);
    projects.change(organization, project.id, change, act).await
}

async fn stored(scene: &Scene<Stores>, project: &Project) -> Project {
    let found = scene.project(project.organization_id, project.id).await;
    found.expect("the project exists").project
}

async fn recorded(scene: &Scene<Stores>, action: Action, project: &Project) -> Vec<AuditEvent> {
    let here = Some(project.organization_id);
    scene
        .events_about(here, action, Subject::Project(project.id))
        .await
}
