//! Ended keys beyond those that are kept: what the domain's suite cannot ask, because it takes many keys.

use chrono::TimeDelta;
use keyward_domain::clock::Clock;
use keyward_domain::retention::SurplusKeys;

use crate::asked::Asked;
use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    search_for_surplus_keys_passes_over_many_keys_at_once,
    surplus_keys_that_ended_at_once_are_counted_exactly,
);

/// Adds former members, and ended keys of each, by the shortest way.
async fn add_members_with_ended_keys(scene: &Scene, members: usize, keys: usize) {
    let database = &scene.database;
    let (id, digest) = (database.new_id(), database.new_digest());
    let (members, keys) = (database.series(members), database.series(keys));
    let bob = database.id(scene.bob.membership.id.as_uuid());
    let key = database.id(scene.key.as_uuid());
    database
        .execute(&format!(
            "INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at, end_came_at)
             SELECT {id}, organization_id, user_id, role, joined_at, joined_at, joined_at FROM memberships, {members}
             WHERE id = {bob};
             INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id,
                 created_at, revoked_at, end_came_at, revoked_by_kind, revoked_reason)
             SELECT {id}, memberships.id, {digest}, hint, name, description, search_text, created_by_user_id,
                 created_at, created_at, created_at, 'administrator', 'leak'
             FROM api_keys, memberships, {keys} WHERE api_keys.id = {key} AND memberships.end_came_at IS NOT NULL"
        ))
        .await;
}

async fn search_for_surplus_keys_passes_over_many_keys_at_once(database: Database) {
    const MEMBERS: usize = 200;
    const KEYS: usize = 10;
    let scene = Scene::new(database).await;
    add_members_with_ended_keys(&scene, MEMBERS, KEYS).await;
    let asked = Asked::of(&scene.database).await;
    for (kept, most) in [(10, 2 * MEMBERS), (100, 2 * MEMBERS / 10 + 1), (2_000, 1)] {
        asked.statements();
        let found = asked.store.next_with_surplus_keys(None, kept).await;
        assert_eq!(found.expect("an answer"), None);
        let mut statements = asked.statements();
        statements.retain(|asked| asked.statement.contains("api_keys"));
        let number = statements.len();
        assert!((1..=most).contains(&number), "{number} for {kept}");
    }
}

async fn surplus_keys_that_ended_at_once_are_counted_exactly(database: Database) {
    const KEYS: usize = 30;
    let scene = Scene::new(database).await;
    add_members_with_ended_keys(&scene, 1, KEYS).await;
    scene.make.clock.advance(TimeDelta::days(1));
    let store = &scene.database.store;
    let found = store.next_with_surplus_keys(None, 7).await.expect("an answer");
    let surplus = SurplusKeys {
        consumer: found.expect("a former member"),
        kept: 7,
        before: scene.make.clock.now(),
    };
    for removed in [20, 3, 0] {
        let answer = store.remove_surplus_keys(surplus, 20).await;
        assert_eq!(answer.expect("a removal"), removed);
    }
    assert_eq!(
        store.next_with_surplus_keys(None, 7).await.expect("an answer"),
        None
    );
    let consumer = scene.database.id(surplus.consumer.as_uuid());
    let left = format!("api_keys WHERE consumer_id = {consumer}");
    assert_eq!(scene.database.count(&left).await, 7);
}
