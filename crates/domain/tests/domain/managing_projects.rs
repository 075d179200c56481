//! Use cases of owners for projects.

use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ChangeProjectError, ProjectFilter, ProjectStatus};
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::id::ProjectId;
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::ReachableProjects;
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::testing::TestInstallation;

fn name(text: &str) -> ProjectName {
    ProjectName::parse(text).expect("a project name")
}

fn authority(owner: &Member) -> Authority {
    owner.as_authority(owner.membership.joined_at).expect("an owner")
}

fn from_somewhere() -> RequestSource {
    RequestSource {
        address: Some([192, 0, 2, 7].into()),
        request_id: Some("request-1".to_owned()),
    }
}

/// An installation whose organization has the owner `ada`, the member `bob` and the project `Notes`.
async fn with_project() -> (TestInstallation, Member, Member, Project) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    let bob = installation.member(&acme, "bob", Role::Member);
    let project = installation
        .projects()
        .create(&authority(&ada), name("Notes"), None, from_somewhere())
        .await
        .expect("created");
    (installation, ada, bob, project)
}

async fn reached_by(installation: &TestInstallation, member: &Member) -> Vec<ProjectId> {
    let page = PageRequest::first(PageSize::DEFAULT);
    let reached = ReachableProjects::list(
        &installation.store,
        member.membership.id,
        page,
        installation.builder.sources.now(),
    )
    .await;
    let reached = reached.expect("the store answers").items;
    reached.into_iter().map(|project| project.id).collect()
}

#[tokio::test]
async fn new_project_is_active_and_empty_with_one_event() {
    let (installation, ada, _, project) = with_project().await;
    let found = installation
        .projects()
        .find(&authority(&ada), project.id, installation.now())
        .await;
    let found = found.expect("the store answers").expect("a project");

    assert_eq!(found.project, project);
    assert!(found.project.is_active());
    assert_eq!(found.members, 0);
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(
        (recorded.action, recorded.subject, recorded.actor, recorded.at),
        (
            Action::CreateProject,
            Subject::Project(project.id),
            Actor::User(ada.user.id),
            project.created_at
        )
    );
    assert_eq!(recorded.source, from_somewhere());
    assert_eq!(recorded.organization_id, Some(ada.organization.id));
}

#[tokio::test]
async fn member_reaches_a_project_from_addition_until_removal() {
    let (installation, ada, bob, project) = with_project().await;
    let (projects, of_acme) = (installation.projects(), authority(&ada));
    assert_eq!(reached_by(&installation, &bob).await, []);

    let him = bob.membership.id;
    projects
        .add_member(&of_acme, project.id, him, from_somewhere())
        .await
        .expect("added");
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(
        (recorded.action, recorded.subject, recorded.object),
        (
            Action::AddProjectMember,
            Subject::Membership(him),
            Some(Subject::Project(project.id))
        )
    );
    assert_eq!(reached_by(&installation, &bob).await, [project.id]);
    assert_eq!(reached_by(&installation, &ada).await, []);
    let page = PageRequest::first(PageSize::DEFAULT);
    let members = projects
        .members(&of_acme, project.id, page, installation.now())
        .await;
    let members = members.expect("the store answers").items;
    assert_eq!(members.len(), 1);
    assert_eq!(members.first().map(|member| member.membership.id), Some(him));

    projects
        .remove_member(&of_acme, project.id, him, from_somewhere())
        .await
        .expect("taken out");
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(
        (recorded.action, recorded.object),
        (Action::RemoveProjectMember, Some(Subject::Project(project.id)))
    );
    assert_eq!(reached_by(&installation, &bob).await, []);
}

#[tokio::test]
async fn restored_project_is_reachable_by_its_members_again() {
    let (installation, ada, bob, project) = with_project().await;
    let (projects, of_acme) = (installation.projects(), authority(&ada));
    projects
        .add_member(&of_acme, project.id, bob.membership.id, from_somewhere())
        .await
        .expect("added");
    projects
        .archive(&of_acme, project.id, from_somewhere())
        .await
        .expect("archived");
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(recorded.action, Action::ArchiveProject);
    assert_eq!(reached_by(&installation, &bob).await, []);

    projects
        .restore(&of_acme, project.id, from_somewhere())
        .await
        .expect("restored");
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(recorded.action, Action::RestoreProject);
    assert_eq!(reached_by(&installation, &bob).await, [project.id]);
}

#[tokio::test]
async fn renamed_project_is_listed_by_its_new_name() {
    let (installation, ada, _, project) = with_project().await;
    let (projects, of_acme) = (installation.projects(), authority(&ada));
    projects
        .rename(&of_acme, project.id, name("Engine"), from_somewhere())
        .await
        .expect("renamed");

    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(recorded.action, Action::RenameProject);
    let page = PageRequest::first(PageSize::DEFAULT);
    let filter = ProjectFilter::new(ProjectStatus::Active, Some("engine"));
    let listed = projects.list(&of_acme, filter, page, installation.now()).await;
    let listed = listed.expect("the store answers").items;
    assert_eq!(listed.len(), 1);
    assert!(
        listed
            .iter()
            .all(|overview| overview.project.name == name("Engine"))
    );
}

#[tokio::test]
async fn owner_cannot_find_another_organizations_project() {
    let (installation, _, _, project) = with_project().await;
    let other = installation.organization("Other");
    let stranger = installation.member(&other, "stranger", Role::Owner);
    let (projects, of_other) = (installation.projects(), authority(&stranger));
    let found = projects.find(&of_other, project.id, installation.now()).await;
    assert_eq!(found.expect("the store answers"), None);

    let refused = projects.archive(&of_other, project.id, from_somewhere()).await;
    assert!(
        matches!(refused, Err(ChangeProjectError::NotFound)),
        "{refused:?}"
    );
}
