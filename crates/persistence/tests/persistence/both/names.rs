//! Names of what other ports keep.

use keyward_domain::administration::ports::Names;
use keyward_domain::audit::Subject;

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(projects_and_invitations_are_named_in_their_organization_only);

async fn projects_and_invitations_are_named_in_their_organization_only(database: Database) {
    let scene = Scene::new(database).await;
    let project = Subject::Project(scene.project.id);
    let invitation = Subject::Invitation(scene.invitation.invitation.id);
    let names = async |organization| {
        let found = Names::find(&*scene.database.store, organization, &[project, invitation]).await;
        found.expect("the store answers")
    };

    let named = [(project, "Notes".to_owned()), (invitation, "Grace".to_owned())];
    assert_eq!(names(scene.ada.organization.id).await, named.into());
    assert!(names(scene.elsewhere.id).await.is_empty());
}
