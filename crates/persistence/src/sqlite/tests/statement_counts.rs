//! How many statements it takes to answer what pages ask.

use keyward_domain::administration::ports::Names;
use keyward_domain::audit::Subject;
use keyward_domain::id::{ApiKeyId, InvitationId, MembershipId, OrganizationId, ProjectId, UserId};
use tempfile::TempDir;
use uuid::Uuid;

use super::noted_statements::noted;
use super::scene::scene;

#[tokio::test]
async fn names_of_all_kinds_take_one_statement() {
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    let organization = OrganizationId::from_uuid(Uuid::nil());
    let subjects = [
        Subject::Organization(organization),
        Subject::User(UserId::from_uuid(Uuid::nil())),
        Subject::Membership(MembershipId::from_uuid(Uuid::nil())),
        Subject::ApiKey(ApiKeyId::from_uuid(Uuid::nil())),
        Subject::Project(ProjectId::from_uuid(Uuid::nil())),
        Subject::Invitation(InvitationId::from_uuid(Uuid::nil())),
    ];
    let statements = noted(&store).await;
    let asked = || std::mem::take(&mut *statements.lock().unwrap()).len();
    let found = store.identify(organization, &subjects).await.unwrap();
    assert_eq!(found.len(), 5);
    assert_eq!(found.values().filter(|named| named.username.is_some()).count(), 2);
    assert_eq!(asked(), 1);
    assert!(
        Names::find(&store, organization, &[Subject::Installation])
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(asked(), 0);
}
