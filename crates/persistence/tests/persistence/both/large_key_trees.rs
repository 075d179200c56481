//! A key tree of more keys than any consumer has, nearly all of them dead.

use std::num::NonZeroU32;

use keyward_domain::administration::ports::{KeySelection, KeyTreeSize, OrganizationKeyStore};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::ports::DescendantKeys;

use crate::both::scene::Scene;
use crate::database::{Database, now};

on_both!(key_tree_of_hundreds_of_thousands_skips_its_dead_keys);

const DEAD: usize = 200_000;

/// Revoked keys next below Bob's first one, by the shortest way.
async fn add_dead(scene: &Scene) {
    let database = &scene.database;
    // Without the triggers, one of which would find out the organization; and PostgreSQL looks at a table
    // that has grown by so much by itself, but when it likes to.
    let (shortcut, organization, look) = if database.is_postgres() {
        (
            "SET session_replication_role = replica;",
            "organization_id, idle_since_day,",
            "; ANALYZE api_keys",
        )
    } else {
        ("", "", "")
    };
    let (id, digest, series) = (database.new_id(), database.new_digest(), database.series(DEAD));
    let parent = database.id(scene.key.as_uuid());
    let copies = format!(
        "{shortcut}
         INSERT INTO api_keys (id, consumer_id, {organization} digest, hint, name, description, search_text,
             created_by_key_id, created_at, revoked_at, end_came_at, revoked_by_kind, revoked_reason)
         SELECT {id}, consumer_id, {organization} {digest}, hint, name, '', name, id, created_at, created_at, created_at,
             'administrator', 'administrator'
         FROM api_keys, {series} WHERE id = {parent}{look}"
    );
    database.execute(&copies).await;
}

/// A client that creates and revokes keys all day must not become impossible to revoke.
async fn key_tree_of_hundreds_of_thousands_skips_its_dead_keys(database: Database) {
    let scene = Scene::new(database).await;
    add_dead(&scene).await;
    let (key, child) = (scene.key, scene.child);
    let newest = scene.issue_with(key).await;

    let keys = &scene.use_cases.keys;
    let valid = keys
        .valid_descendants(&scene.bob.as_holder(), key, scene.make.sources.now())
        .await;
    let valid: Vec<_> = valid.expect("descendants").iter().map(|key| key.id).collect();
    assert_eq!(valid, [newest, child]);
    let organization = scene.ada.organization.id;
    let owners: &dyn OrganizationKeyStore = &*scene.database.store;
    let key_tree = owners
        .key_tree(organization, newest, KeyTreeSize::DEFAULT, now())
        .await;
    let key_tree = key_tree.expect("a key tree");
    assert_eq!((key_tree.keys.len(), key_tree.has_more), (500, true));
    assert!(key_tree.keys.iter().any(|key| key.id == newest));
    let selection = KeySelection::Keys {
        ids: vec![key],
        descendants: DescendantKeys::Revoke,
    };
    let revocation_preview = owners
        .revocation_preview(organization, selection.clone(), now())
        .await;
    assert_eq!(revocation_preview.expect("an answer").descendants.keys, 2);
    let act = scene.make.act_of(&scene.ada.as_holder());
    let (at_most, reason) = (NonZeroU32::MAX, RevocationReason::Owner);
    let revoked = owners
        .revoke(organization, selection, at_most, reason, None, act)
        .await;
    assert_eq!(revoked.expect("revoked keys").keys, [key, child, newest]);
    assert_eq!(scene.revoke_all(key).await, []);

    // SQLite's query plans show this: see `sqlite/tests/plans.rs` of the sources.
    if scene.database.is_postgres() {
        let read = scene.database.rows_read("api_keys").await;
        assert!(read < DEAD / 20, "{read} rows were read");
    }
}
