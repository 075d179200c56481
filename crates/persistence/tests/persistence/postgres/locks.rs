//! Who waits for whom.

use std::num::NonZeroU32;
use std::time::Duration;

use keyward_domain::administration::ports::{KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::audit::Actor;
use tokio::time::timeout;

use crate::both::scene::{Scene, member};
use crate::database::Database;

#[tokio::test]
async fn an_owner_locks_no_consumer_of_another_organization() {
    let scene = Scene::new(Database::postgres().await).await;
    let foreign = member(&scene.database, "dave", &scene.elsewhere).await;
    let consumer = foreign.membership.id;
    let _held = scene.database.lock_changes_of(consumer.as_uuid()).await;
    let store: &dyn OrganizationKeyStore = &*scene.database.store;
    let revoking = store.revoke(
        scene.ada.organization.id,
        KeySelection::OfConsumer(consumer),
        NonZeroU32::MIN,
        RevocationReason::Owner,
        None,
        scene.make.act(Actor::User(scene.ada.user.id)),
    );
    let revoked = timeout(Duration::from_secs(10), revoking).await;
    let revoked = revoked.expect("nobody is waited for");
    assert_eq!(revoked.expect("an answer"), []);
}
