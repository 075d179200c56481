//! Acts that each revoke more keys than any consumer has.

use crate::both::changes::Change;
use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    thousands_of_descendants_are_revoked_with_one_event_each,
    owner_revokes_thousands_of_keys_with_one_event_each,
);

const THOUSANDS: usize = 5_000;

/// Bob has [`THOUSANDS`] keys, all but one created with that one.
async fn scene_of_thousands(database: Database) -> Scene {
    let scene = Scene::new(database).await;
    let database = &scene.database;
    let rows: Vec<String> = (2..THOUSANDS)
        .map(|number| {
            let id = scene.make.ids.next::<keyward_domain::id::ApiKeyId>().as_uuid();
            format!("({}, {})", database.id(id), database.digest(number))
        })
        .collect();
    let copies = format!(
        "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                               created_at)
         SELECT new.column1, consumer_id, new.column2, hint, name, description, search_text, api_keys.id, created_at
         FROM api_keys, (VALUES {}) AS new WHERE api_keys.id = {}",
        rows.join(", "),
        database.id(scene.key.as_uuid())
    );
    database.execute(&copies).await;
    scene
}

async fn assert_all_revoked_with_events(database: &Database) {
    assert_eq!(database.count("api_keys WHERE revoked_at IS NULL").await, 0);
    let recorded =
        "(SELECT DISTINCT subject_id FROM audit_events WHERE action = 'api_key.revoke') AS recorded";
    assert_eq!(database.count(recorded).await, THOUSANDS);
}

async fn thousands_of_descendants_are_revoked_with_one_event_each(database: Database) {
    let scene = scene_of_thousands(database).await;
    assert_eq!(scene.revoke_all(scene.key).await.len(), THOUSANDS);
    assert_all_revoked_with_events(&scene.database).await;
}

async fn owner_revokes_thousands_of_keys_with_one_event_each(database: Database) {
    let scene = scene_of_thousands(database).await;
    let revoked = scene.attempt(Change::RevokeKeysIssuedBefore).await;
    revoked.expect("revoked keys");
    assert_all_revoked_with_events(&scene.database).await;
}
