//! A chain of more dead keys than any consumer has, in which each key was created by the one before it and
//! then revoked that one. However long such a chain is, keys can be revoked.

use std::collections::HashMap;
use std::num::NonZeroU32;

use keyward_domain::administration::ports::{KeySelection, KeyTreeSize, OrganizationKeyStore};
use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{ApiKeys, DescendantKeys};
use uuid::Uuid;

use crate::both::scene::Scene;
use crate::database::{Database, now};

on_both!(
    thousands_of_dead_ancestors_are_skipped,
    any_ancestor_is_reached_in_few_steps,
    keys_below_many_dead_keys_are_revoked_in_one_traversal,
    key_tree_without_valid_keys_is_revoked_without_the_lock,
);

const DEAD: usize = 10_000;

fn id(number: usize) -> ApiKeyId {
    ApiKeyId::from_uuid(Uuid::from_u128(0x7000_8000 << 64 | number as u128))
}

/// Adds a chain of `length` dead keys below a key.
async fn add_dead_chain(scene: &Scene, below: ApiKeyId, length: usize) {
    let database = &scene.database;
    let first = database.id(below.as_uuid());
    let digest = database.new_digest();
    // PostgreSQL looks at a table that has grown by so much by itself, but when it likes to.
    let look = if database.is_postgres() {
        "; ANALYZE api_keys"
    } else {
        ""
    };
    let (series, id, before, number) = if database.is_postgres() {
        let id =
            |number: &str| format!("('000000007000800000000000' || lpad(to_hex({number}), 8, '0'))::uuid");
        let series = format!("generate_series(1, {length}) AS series (number)");
        (series, id("number"), id("number - 1"), "number")
    } else {
        let id = |number: &str| format!("unhex('000000007000800000000000' || printf('%08x', {number}))");
        (database.series(length), id("number"), id("number - 1"), "number")
    };
    database
        .execute(&format!(
            "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                                   created_at, revoked_at, end_came_at, revoked_by_kind,
                                   revoked_reason)
             SELECT {id}, consumer_id, {digest}, hint, 'dead', '', 'dead',
                 CASE WHEN {number} = 1 THEN {first} ELSE {before} END, created_at, created_at, created_at,
                 'administrator', 'administrator'
             FROM {series}, api_keys WHERE id = {first} ORDER BY number{look}"
        ))
        .await;
}

/// Makes a key valid again, past the store: the last one of the chain.
async fn revive(scene: &Scene, key: ApiKeyId) {
    let key = scene.database.id(key.as_uuid());
    let valid = "revoked_at = NULL, end_came_at = NULL, revoked_by_kind = NULL, revoked_reason = NULL";
    scene
        .database
        .execute(&format!("UPDATE api_keys SET {valid} WHERE id = {key}"))
        .await;
}

async fn thousands_of_dead_ancestors_are_skipped(database: Database) {
    let scene = Scene::new(database).await;
    add_dead_chain(&scene, scene.child, DEAD).await;
    revive(&scene, id(DEAD)).await;
    let (top, last) = (scene.key, id(DEAD));
    let before = if scene.database.is_postgres() {
        scene.database.rows_read("api_keys").await
    } else {
        0
    };

    let newest = scene.issue_with(last).await;
    let keys = &scene.use_cases.keys;
    for (key, expected) in [
        (id(1), vec![newest, last]),
        (id(DEAD / 3), vec![newest, last]),
        (id(DEAD - 1), vec![newest, last]),
        (top, vec![newest, last, scene.child]),
        (scene.make.ids.next(), vec![]),
    ] {
        let valid = keys
            .valid_descendants(&scene.bob.as_holder(), key, scene.make.sources.now())
            .await
            .expect("descendants");
        let mut valid: Vec<_> = valid.iter().map(|key| key.id).collect();
        valid.sort_unstable_by_key(|key| expected.iter().position(|other| other == key));
        assert_eq!(valid, expected);
    }
    let organization = scene.ada.organization.id;
    let owners: &dyn OrganizationKeyStore = &*scene.database.store;
    let key_tree = owners
        .key_tree(organization, newest, KeyTreeSize::DEFAULT, now())
        .await
        .expect("a key tree");
    assert!(key_tree.has_more);
    assert!(key_tree.keys.iter().any(|key| key.id == last));
    let selection = KeySelection::Keys {
        ids: vec![id(2), id(DEAD / 2)],
        descendants: DescendantKeys::Revoke,
    };
    let revocation_preview = owners
        .revocation_preview(organization, selection.clone(), now())
        .await;
    assert_eq!(revocation_preview.expect("an answer").descendants.keys, 2);
    // With all that came from a key which is dead itself.
    assert_eq!(scene.revoke_all(id(DEAD / 2)).await, [last, newest]);
    assert_eq!(scene.revoke_all(id(DEAD / 2)).await, []);
    let act = scene.make.act_of(&scene.ada.as_holder());
    let (at_most, reason) = (NonZeroU32::MAX, RevocationReason::Owner);
    let revoked = owners
        .revoke(organization, selection, at_most, reason, None, act)
        .await;
    assert_eq!(revoked.expect("revoked keys").keys, []);
    assert_eq!(scene.revoke_all(top).await, [top, scene.child]);

    // SQLite's query plans show this: see `sqlite/tests/plans.rs` of the sources.
    if scene.database.is_postgres() {
        let read = scene.database.rows_read("api_keys").await - before;
        assert!(read < DEAD / 2, "{read} rows were read");
    }
}

async fn keys_below_many_dead_keys_are_revoked_in_one_traversal(database: Database) {
    const ROOTS: usize = 100;
    let scene = Scene::new(database).await;
    add_dead_chain(&scene, scene.child, DEAD).await;
    revive(&scene, id(DEAD)).await;
    let mut valid = vec![id(DEAD)];
    for _ in 0..20 {
        valid.push(scene.issue_with(id(DEAD)).await);
    }
    let before = if scene.database.is_postgres() {
        scene.database.rows_read("api_keys").await
    } else {
        0
    };
    let selection = KeySelection::Keys {
        ids: (1..=ROOTS).map(|number| id(number * DEAD / ROOTS - 1)).collect(),
        descendants: DescendantKeys::Revoke,
    };
    let owners: &dyn OrganizationKeyStore = &*scene.database.store;
    let act = scene.make.act_of(&scene.ada.as_holder());
    let (organization, reason) = (scene.ada.organization.id, RevocationReason::Owner);
    let revoked = owners
        .revoke(organization, selection, NonZeroU32::MAX, reason, None, act)
        .await;
    assert_eq!(revoked.expect("revoked keys").keys.len(), valid.len());

    // The steps that SQLite takes are counted in `sqlite/api_keys/key_tree.rs` of the sources.
    if scene.database.is_postgres() {
        let read = scene.database.rows_read("api_keys").await - before;
        let few = 20 * (ROOTS + valid.len());
        assert!(read < few, "{read} rows were read");
    }
}

async fn any_ancestor_is_reached_in_few_steps(database: Database) {
    const LENGTH: usize = 3_000;
    let scene = Scene::new(database).await;
    add_dead_chain(&scene, scene.child, LENGTH).await;
    let (hex, place) = if scene.database.is_postgres() {
        ("replace(coalesce(X::text, ''), '-', '')", "tree_depth::text")
    } else {
        ("lower(hex(coalesce(X, '')))", "tree_depth")
    };
    let [key, above, skip] =
        ["id", "created_by_key_id", "skip_key_id"].map(|column| hex.replace('X', column));
    let rows =
        format!("SELECT {key} || ' ' || {place} || ' ' || {above} || ' ' || {skip} AS text FROM api_keys");
    let rows = scene.database.texts(&rows).await;
    let parse = |hex: &str| Uuid::parse_str(hex).ok();
    let chain: HashMap<Uuid, (usize, Option<Uuid>, Option<Uuid>)> = rows
        .iter()
        .map(|row| {
            let fields: Vec<&str> = row.split(' ').collect();
            let depth = fields[1].parse().expect("a depth");
            (
                parse(fields[0]).expect("an identifier"),
                (depth, parse(fields[2]), parse(fields[3])),
            )
        })
        .collect();
    let depth = |key: Uuid| chain[&key].0;
    assert_eq!(
        [scene.key, scene.child, id(1), id(LENGTH)].map(|key| depth(key.as_uuid())),
        [0, 1, 2, LENGTH + 1]
    );
    let mut most = 0;
    for goal in (1..LENGTH).step_by(7) {
        let (mut at, mut steps) = (id(LENGTH).as_uuid(), 0);
        while depth(at) > depth(id(goal).as_uuid()) {
            let (_, above, skip) = chain[&at];
            let skip = skip.filter(|skip| depth(*skip) >= depth(id(goal).as_uuid()));
            at = skip.or(above).expect("a key above");
            steps += 1;
        }
        assert_eq!(at, id(goal).as_uuid());
        most = most.max(steps);
    }
    // Twice the logarithm of the length, and a little.
    assert!(most <= 26, "{most} steps");
}

async fn key_tree_without_valid_keys_is_revoked_without_the_lock(database: Database) {
    let scene = Scene::new(database).await;
    let dead = scene.issue_with(scene.key).await;
    scene.revoke_all(dead).await;
    let unknown: ApiKeyId = scene.make.ids.next();
    let consumer = scene.bob.membership.id;
    let lock = scene.database.lock_changes_of(consumer.as_uuid()).await;
    let stale = || KeyPrecondition::OneOf(Vec::new());
    for (key, precondition, expected) in [
        (dead, KeyPrecondition::AnyVersion, "Ok([])"),
        (dead, stale(), "Ok([])"),
        (unknown, KeyPrecondition::AnyVersion, "Err(NotFound)"),
        (unknown, stale(), "Err(NotFound)"),
    ] {
        let act = scene.make.act_of(&scene.bob.as_holder());
        let (store, reason, below) = (
            &*scene.database.store,
            RevocationReason::Holder,
            DescendantKeys::Revoke,
        );
        let revoked = ApiKeys::revoke(store, consumer, key, reason.into(), below, precondition, act).await;
        assert_eq!(format!("{revoked:?}"), expected);
    }
    drop(lock);
}
