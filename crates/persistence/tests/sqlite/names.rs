//! Names of what other ports keep.

use keyward_domain::administration::ports::Names;
use keyward_domain::audit::Subject;
use keyward_domain::id::{InvitationId, ProjectId};

use crate::fixture::{Fixture, blob};

#[tokio::test]
async fn projects_and_invitations_have_their_names_in_their_organization_only() {
    let fixture = Fixture::new().await;
    let here = fixture.owner.organization.id;
    let (project, invitation): (ProjectId, InvitationId) = (fixture.make.ids.next(), fixture.make.ids.next());
    fixture.directory.execute(&format!(
        "INSERT INTO projects (id, organization_id, name, search_text, created_at)
             VALUES ({}, {owner}, 'Telescope', 'telescope', 0);
             INSERT INTO invitations
                 (id, organization_id, digest, invitee, role, invited_by_kind, created_at, expires_at)
             VALUES ({}, {owner}, zeroblob(32), 'Grace', 'member', 'administrator', 0, 0)",
        blob(project.as_uuid()),
        blob(invitation.as_uuid()),
        owner = blob(here.as_uuid()),
    ));
    let (project, invitation) = (Subject::Project(project), Subject::Invitation(invitation));

    let found = Names::find(&fixture.store, here, &[project, invitation]).await;
    let found = found.expect("the store answers");
    assert_eq!(
        found,
        [
            (project, "Telescope".to_owned()),
            (invitation, "Grace".to_owned())
        ]
        .into()
    );
    let elsewhere = fixture.make.ids.next();
    let found = Names::find(&fixture.store, elsewhere, &[project, invitation]).await;
    assert!(found.expect("the store answers").is_empty());
}
