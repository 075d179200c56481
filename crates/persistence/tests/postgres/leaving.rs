//! What is left of a membership that has ended.

use keyward_domain::administration::ports::{MemberStore, ProjectStore};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::membership::Role;
use keyward_domain::project::{Project, ProjectName};

use crate::fixture::{Fixture, count};

#[tokio::test]
async fn no_row_says_that_whoever_left_is_in_a_project() {
    let fixture = Fixture::new().await;
    let (organization, make) = (&fixture.owner.organization, &fixture.make);
    let act = make.act(Actor::Administrator);
    let project = Project {
        id: make.ids.next(),
        organization_id: organization.id,
        name: ProjectName::parse("Notes").expect("a name"),
        created_at: act.at,
        archived_at: None,
    };
    let bob = make.user("bob");
    let membership = make.membership(organization, &bob, Role::Member);
    fixture
        .execute(&format!(
            "INSERT INTO users (id, username, display_name, password_hash, created_at)
             VALUES ('{}', 'bob', 'bob', 'x', now());
             INSERT INTO memberships (id, organization_id, user_id, role, joined_at)
             VALUES ('{}', '{}', '{}', 'member', now())",
            bob.id, membership.id, organization.id, bob.id
        ))
        .await;
    let event = |action| act.event(action, Subject::Membership(membership.id));
    ProjectStore::add(&fixture.store, project.clone(), event(Action::CreateProject))
        .await
        .expect("a project");
    for member in [membership.id, fixture.owner.membership.id] {
        let added = event(Action::AddProjectMember);
        let added = fixture
            .store
            .add_member(organization.id, project.id, member, added);
        added.await.expect("a member of it");
    }
    assert_eq!(count(&fixture.client, "project_members").await, 2);

    let removed = MemberStore::end(&fixture.store, organization.id, membership.id, act);
    removed.await.expect("removed");
    assert_eq!(count(&fixture.client, "project_members").await, 1);
}
