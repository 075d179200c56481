//! Key trees that no port can make, but SQL can: one with another consumer's key in it, and one with a cycle.

use keyward_domain::id::ApiKeyId;

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    ancestry_is_not_followed_through_another_consumers_key,
    circular_ancestry_is_followed_downwards_only,
);

async fn valid_descendants(scene: &Scene, key: ApiKeyId) -> Vec<ApiKeyId> {
    let keys = scene
        .use_cases
        .keys
        .valid_descendants(&scene.bob.as_holder(), key, scene.make.sources.now())
        .await;
    keys.expect("descendants").iter().map(|key| key.id).collect()
}

async fn ancestry_is_not_followed_through_another_consumers_key(database: Database) {
    let scene = Scene::new(database).await;
    let (key, child) = (scene.key, scene.child);
    let grandchild = scene.issue_with(child).await;
    assert_eq!(valid_descendants(&scene, key).await, [grandchild, child]);
    let [carol, of_child] =
        [scene.carol.membership.id.as_uuid(), child.as_uuid()].map(|id| scene.database.id(id));
    let given_away = format!("UPDATE api_keys SET consumer_id = {carol} WHERE id = {of_child}");
    scene.database.execute(&given_away).await;

    assert_eq!(valid_descendants(&scene, key).await, []);
    assert_eq!(scene.revoke_all(key).await, [key]);
    assert_eq!(scene.database.count("api_keys WHERE revoked_at IS NULL").await, 2);
}

async fn circular_ancestry_is_followed_downwards_only(database: Database) {
    let scene = Scene::new(database).await;
    let (key, child) = (scene.key, scene.child);
    let grandchild = scene.issue_with(child).await;
    let [first, last] = [key.as_uuid(), grandchild.as_uuid()].map(|id| scene.database.id(id));
    let circle = format!(
        "UPDATE api_keys SET created_by_user_id = NULL, created_by_key_id = {last} WHERE id = {first}"
    );
    scene.database.execute(&circle).await;

    assert_eq!(valid_descendants(&scene, key).await, [grandchild, child]);
    assert_eq!(scene.revoke_all(child).await, [child, grandchild]);
}
