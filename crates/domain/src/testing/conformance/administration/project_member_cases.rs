//! Cases of [`ProjectStore`](crate::administration::ports::ProjectStore): the members of a project.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::{CROWD, as_user};
use crate::administration::ports::{ChangeProjectMembersError, MemberProfile};
use crate::audit::{Act, Action, Actor, AuditEvent, Subject};
use crate::id::MembershipId;
use crate::membership::{Member, Role};
use crate::page::PageSize;
use crate::project::{Project, ProjectChange};

pub(super) async fn added_member_is_in_the_project_with_one_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.add_project(&ada.organization, "Empty").await;
    let (act, action) = (scene.act(&ada), Action::AddProjectMember);
    change_with(&scene, act.clone(), action, &project, &bob)
        .await
        .expect("added");

    let him = MemberProfile {
        user: bob.user.clone(),
        membership: bob.membership.clone(),
    };
    assert_eq!(members(&scene, &project, PageSize::MAX).await, [him]);
    let overview = scene.project(ada.organization.id, project.id).await;
    assert_eq!(overview.map(|overview| overview.members), Some(1));
    let listed = scene.listed(ada.organization.id, None, PageSize::MAX).await;
    let projects: Vec<u32> = listed.iter().map(|member| member.projects).collect();
    assert_eq!(projects, [1, 0]);
    assert_recorded(&scene, &act, action, &project, &bob).await;

    scene.archive(&project).await.expect("archived");
    let listed = scene.listed(ada.organization.id, None, PageSize::MAX).await;
    let active: Vec<u32> = listed.iter().map(|member| member.projects).collect();
    assert_eq!(active, [0, 0]);
}

pub(super) async fn removed_member_is_not_in_the_project(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let [first, second] = [
        scene.add_project(&ada.organization, "first").await,
        scene.add_project(&ada.organization, "second").await,
    ];
    for (project, member) in [(&first, &bob), (&first, &ada), (&second, &bob)] {
        scene.assign(project, member).await.expect("added");
    }
    let (act, action) = (scene.act(&ada), Action::RemoveProjectMember);
    change_with(&scene, act.clone(), action, &first, &bob)
        .await
        .expect("taken out");

    assert_eq!(ids(&scene, &first).await, [ada.membership.id]);
    assert_eq!(ids(&scene, &second).await, [bob.membership.id]);
    assert_recorded(&scene, &act, action, &first, &bob).await;
}

pub(super) async fn owner_change_that_waits_is_dated_when_it_is_made(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let (projects, members) = (&scene.stores.projects, &scene.stores.members);
    let (here, project, him) = (ada.organization.id, project.id, bob.membership.id);
    let waited = || {
        let act = scene.act(&ada);
        scene.later(TimeDelta::seconds(1));
        act
    };
    let added = projects.add_member(here, project, him, waited()).await;
    added.expect("added");
    let removed = projects.remove_member(here, project, him, waited()).await;
    removed.expect("taken out");
    let archived = projects.change(here, project, ProjectChange::Archive, waited());
    archived.await.expect("archived");
    let promoted = members.change_role(here, him, Role::Owner, waited()).await;
    promoted.expect("promoted");
    members.end(here, him, waited()).await.expect("removed");

    let events = scene.events(Some(here)).await;
    let ages: Vec<i64> = events
        .iter()
        .map(|event| (scene.now() - event.at).num_seconds())
        .collect();
    assert_eq!(ages[..5], [0, 1, 2, 3, 4]);
}

pub(super) async fn unchanged_project_membership_writes_no_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    change(&scene, as_user(&ada), Action::RemoveProjectMember, &project, &bob)
        .await
        .expect("nothing to do");
    for _ in 0..2 {
        scene.assign(&project, &bob).await.expect("in it");
    }

    assert_eq!(recorded(&scene, Action::RemoveProjectMember, &bob).await, []);
    assert_eq!(recorded(&scene, Action::AddProjectMember, &bob).await.len(), 1);
    assert_eq!(ids(&scene, &project).await, [bob.membership.id]);
}

pub(super) async fn pages_of_project_members_form_the_whole_list(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let mut expected = Vec::new();
    for number in 0..5 {
        let member = scene.join(&ada.organization, &format!("member{number}")).await;
        scene.assign(&project, &member).await.expect("added");
        expected.insert(0, member.membership.id);
    }

    assert_eq!(ids(&scene, &project).await, expected);
    let all = members(&scene, &project, PageSize::MAX).await;
    for size in 1..=6 {
        assert_eq!(members(&scene, &project, size).await, all, "by {size}");
    }
}

pub(super) async fn project_members_are_visible_within_their_organization_only(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.assign(&project, &bob).await.expect("added");
    let other = scene.add_organization("Difference Engines").await;
    let pretended = Project {
        organization_id: other.id,
        ..project.clone()
    };
    assert_eq!(members(&scene, &pretended, PageSize::MAX).await, []);

    // By the shortest way, past the port that would take him out.
    scene.end_membership(&bob).await;
    assert_eq!(members(&scene, &project, PageSize::MAX).await, []);
    let overview = scene.project(ada.organization.id, project.id).await;
    assert_eq!(overview.map(|overview| overview.members), Some(0));
}

pub(super) async fn batch_lookup_finds_which_members_are_in_a_project(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [bob, cleo, former, elsewhere] = [
        scene.join(&ada.organization, "bob").await,
        scene.join(&ada.organization, "cleo").await,
        scene.join(&ada.organization, "former").await,
        scene.join(&ada.organization, "elsewhere").await,
    ];
    let project = scene.add_project(&ada.organization, "Notes").await;
    let other_project = scene.add_project(&ada.organization, "Other").await;
    for member in [&bob, &cleo, &former] {
        scene.assign(&project, member).await.expect("added");
    }
    scene.assign(&other_project, &elsewhere).await.expect("added");
    // Directly in the store, because the port would also remove them from the project.
    scene.end_membership(&former).await;
    let among = async |project: &Project, members: &[MembershipId]| {
        let (organization, projects) = (project.organization_id, &scene.stores.projects);
        let among = projects
            .members_among(organization, project.id, members, scene.now())
            .await;
        let mut among: Vec<MembershipId> = among.expect("the store answers").into_iter().collect();
        among.sort_unstable();
        among
    };

    let [ada_id, bob_id, cleo_id, former_id, elsewhere_id] =
        [&ada, &bob, &cleo, &former, &elsewhere].map(|member| member.membership.id);
    let asked = [
        cleo_id,
        ada_id,
        bob_id,
        former_id,
        elsewhere_id,
        cleo_id,
        scene.id(),
    ];
    assert_eq!(among(&project, &asked).await, [bob_id, cleo_id]);
    assert_eq!(among(&project, &[cleo_id]).await, [cleo_id]);
    assert_eq!(among(&project, &[]).await, []);
    scene.archive(&project).await.expect("archived");
    assert_eq!(among(&project, &asked).await, [bob_id, cleo_id]);
    let pretended = Project {
        organization_id: scene.add_organization("Difference Engines").await.id,
        ..project
    };
    assert_eq!(among(&pretended, &asked).await, []);
}

pub(super) async fn leaving_member_loses_all_projects_and_returns_without_them(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let projects = [
        scene.add_project(&ada.organization, "first").await,
        scene.add_project(&ada.organization, "second").await,
    ];
    for project in &projects {
        scene.assign(project, &bob).await.expect("added");
        scene.assign(project, &ada).await.expect("added");
    }
    scene.end_as(as_user(&bob), &bob).await.expect("left");
    let again = scene.join_also(&bob.user, &ada.organization).await;

    for project in &projects {
        assert_eq!(ids(&scene, project).await, [ada.membership.id]);
    }
    let found = scene
        .stores
        .members
        .find(ada.organization.id, again.membership.id, scene.now())
        .await;
    let found = found.expect("the store answers").expect("a member again");
    assert_eq!((found.projects, found.valid_keys), (0, 0));
}

pub(super) async fn only_active_owners_and_administrators_change_project_members(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.assign(&project, &ada).await.expect("added");
    let here = Some(ada.organization.id);
    let before = scene.events(here).await;
    for (who, actor) in outsiders
        .into_iter()
        .chain([("a member for themselves", as_user(&bob))])
    {
        for (action, member) in [
            (Action::AddProjectMember, &bob),
            (Action::RemoveProjectMember, &ada),
        ] {
            let refused = change(&scene, actor, action, &project, member).await;
            assert!(
                matches!(refused, Err(ChangeProjectMembersError::NotAllowed)),
                "{who}: {refused:?}"
            );
        }
    }
    assert_eq!(ids(&scene, &project).await, [ada.membership.id]);
    assert_eq!(scene.events(here).await, before);

    change(
        &scene,
        Actor::Administrator,
        Action::AddProjectMember,
        &project,
        &bob,
    )
    .await
    .expect("an administrator may");
}

pub(super) async fn only_active_members_of_the_organization_join_its_projects(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let former = scene.join(&ada.organization, "former").await;
    scene.end_membership(&former).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join_as(&other, "stranger", Role::Owner).await;
    let theirs = Project {
        organization_id: ada.organization.id,
        ..scene.add_project(&other, "Theirs").await
    };
    for action in [Action::AddProjectMember, Action::RemoveProjectMember] {
        for other in [&former, &stranger] {
            let refused = change(&scene, as_user(&ada), action, &project, other).await;
            assert!(
                matches!(refused, Err(ChangeProjectMembersError::MemberNotFound)),
                "{refused:?}"
            );
            let refused = change(&scene, as_user(&ada), action, &theirs, other).await;
            assert!(
                matches!(refused, Err(ChangeProjectMembersError::ProjectNotFound)),
                "the project is looked for first: {refused:?}"
            );
        }
        let refused = change(&scene, as_user(&ada), action, &theirs, &bob).await;
        assert!(
            matches!(refused, Err(ChangeProjectMembersError::ProjectNotFound)),
            "{refused:?}"
        );
    }

    assert_eq!(ids(&scene, &project).await, []);
}

pub(super) async fn project_members_are_unchanged_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.assign(&project, &ada).await.expect("added");
    for (action, member) in [
        (Action::AddProjectMember, &bob),
        (Action::RemoveProjectMember, &ada),
    ] {
        let act = scene.unwritable_act(scene.act(&ada)).await;
        let failed = change_with(&scene, act, action, &project, member).await;
        assert!(
            matches!(failed, Err(ChangeProjectMembersError::Storage(_))),
            "{failed:?}"
        );
    }

    assert_eq!(ids(&scene, &project).await, [ada.membership.id]);
}

pub(super) async fn project_member_change_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    for (action, expected) in [
        (Action::AddProjectMember, vec![bob.membership.id]),
        (Action::RemoveProjectMember, vec![]),
    ] {
        abandon(change(&scene, as_user(&ada), action, &project, &bob)).await;
        eventually("the abandoned change is made", async || {
            ids(&scene, &project).await == expected
        })
        .await;
        assert_eq!(recorded(&scene, action, &bob).await.len(), 1);
    }
}

pub(super) async fn member_leaving_during_addition_to_projects_is_in_none(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut projects = Vec::new();
    for number in 0..CROWD / 2 {
        projects.push(
            scene
                .add_project(&ada.organization, &format!("project {number}"))
                .await,
        );
    }
    for round in 0..2 {
        let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
        let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
        for project in &projects {
            let (scene, project, bob) = (scene.clone(), project.clone(), bob.clone());
            tasks.push(Box::pin(async move {
                let added = scene.assign(&project, &bob).await;
                assert!(
                    matches!(added, Ok(()) | Err(ChangeProjectMembersError::MemberNotFound)),
                    "{added:?}"
                );
            }));
        }
        let (leaver, him) = (scene.clone(), bob.clone());
        tasks.insert(
            tasks.len() / 2,
            Box::pin(async move {
                leaver.end_as(as_user(&him), &him).await.expect("left");
            }),
        );
        scene.in_parallel(tasks).await;

        let reached = scene.reached(&bob, PageSize::MAX).await;
        assert_eq!(reached, []);
        for project in &projects {
            assert_eq!(ids(&scene, project).await, []);
        }
    }
}

pub(super) async fn concurrent_additions_of_one_project_member_add_it_once(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    let attempts = (0..CROWD).map(|_| {
        let (scene, project, bob) = (scene.clone(), project.clone(), bob.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move { scene.assign(&project, &bob).await });
        task
    });
    for added in scene.in_parallel(attempts).await {
        added.expect("in it");
    }

    assert_eq!(ids(&scene, &project).await, [bob.membership.id]);
    assert_eq!(recorded(&scene, Action::AddProjectMember, &bob).await.len(), 1);
}

async fn assert_recorded(
    scene: &Scene<Stores>,
    act: &Act,
    action: Action,
    project: &Project,
    member: &Member,
) {
    let (subject, object) = (
        Subject::Membership(member.membership.id),
        Subject::Project(project.id),
    );
    let recorded = recorded(scene, action, member).await;
    scene
        .assert_recorded(recorded, act.event_with(action, subject, object))
        .await;
}

async fn change(
    scene: &Scene<Stores>,
    actor: Actor,
    action: Action,
    project: &Project,
    member: &Member,
) -> Result<(), ChangeProjectMembersError> {
    let act = scene.act_as(actor, Some(project.organization_id));
    change_with(scene, act, action, project, member).await
}

async fn change_with(
    scene: &Scene<Stores>,
    act: Act,
    action: Action,
    project: &Project,
    member: &Member,
) -> Result<(), ChangeProjectMembersError> {
    let (projects, organization) = (&scene.stores.projects, project.organization_id);
    let (project, member) = (project.id, member.membership.id);
    match action {
        Action::AddProjectMember => projects.add_member(organization, project, member, act).await,
        Action::RemoveProjectMember => projects.remove_member(organization, project, member, act).await,
        other => panic!("{other:?} is about no project member"),
    }
}

async fn members(scene: &Scene<Stores>, project: &Project, size: u16) -> Vec<MemberProfile> {
    let projects = &scene.stores.projects;
    all_pages(size_of(size), |page| {
        projects.members(project.organization_id, project.id, page, scene.now())
    })
    .await
}

async fn ids(scene: &Scene<Stores>, project: &Project) -> Vec<MembershipId> {
    let members = members(scene, project, PageSize::MAX).await;
    members.iter().map(|member| member.membership.id).collect()
}

async fn recorded(scene: &Scene<Stores>, action: Action, member: &Member) -> Vec<AuditEvent> {
    let here = Some(member.organization.id);
    scene
        .events_about(here, action, Subject::Membership(member.membership.id))
        .await
}
