//! Removing expired records: what the domain's suite cannot ask, because it takes more than the ports.

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::administration::ports::{KeyTreeSize, OrganizationKeyStore};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::AuditLog;

use crate::asked::Asked;
use crate::both::scene::Scene;
use crate::database::{Database, now};

on_both!(
    event_removal_respects_event_time_and_identifier_time,
    removal_batch_is_limited_by_children_to_reassign,
    key_with_too_many_children_is_removed_in_several_transactions,
    removal_of_topmost_key_reads_no_children,
    former_members_without_keys_are_not_checked_again,
    former_members_keys_are_removed_member_by_member,
    created_and_removed_keys_leave_no_storage_growth,
);

const ALL: u32 = 500;

async fn remove_events(scene: &Scene, before: DateTime<Utc>) -> u32 {
    let act = scene.make.act(Actor::System);
    let event = act.event(Action::RemoveAuditEvents, Subject::Installation);
    let removed = scene
        .database
        .store
        .remove_audit_events(before, ALL, Some(event))
        .await;
    removed.expect("a removal")
}

async fn remove_keys(scene: &Scene) -> u32 {
    let removed = scene
        .database
        .store
        .remove_dead_keys(scene.make.clock.now(), ALL)
        .await;
    removed.expect("a removal")
}

async fn event_removal_respects_event_time_and_identifier_time(database: Database) {
    let scene = Scene::new(database).await;
    let (make, day) = (&scene.make, TimeDelta::days(1));
    let begun = make.clock.now();
    // An event with an identifier from a clock that is a day ahead.
    make.clock.advance(day);
    let mut ahead = make
        .act(Actor::Administrator)
        .event(Action::CreateSetupLink, Subject::Installation);
    ahead.at = begun;
    // An event with an identifier from a clock that is a day behind.
    let mut behind = make
        .act(Actor::Administrator)
        .event(Action::CreateSetupLink, Subject::Installation);
    behind.at = begun + day * 2;
    make.clock.advance(day * 3);
    let ids = [ahead.id, behind.id].map(|id| scene.database.id(id.as_uuid()));
    for event in [ahead, behind] {
        let recorded = AuditLog::record(&*scene.database.store, event).await;
        recorded.expect("an event");
    }
    let kept = async || {
        let mut kept = Vec::new();
        for id in &ids {
            let events = format!("audit_events WHERE id = {id}");
            kept.push(scene.database.count(&events).await);
        }
        kept
    };

    assert!(remove_events(&scene, begun + day).await > 0);
    assert_eq!(kept().await, [1, 1]);
    assert!(remove_events(&scene, begun + day * 2).await > 0);
    assert_eq!(kept().await, [0, 1]);
    assert!(remove_events(&scene, begun + day * 3).await > 0);
    assert_eq!(kept().await, [0, 0]);
}

/// Adds revoked keys, and valid ones below each, by the shortest way.
async fn add_children(database: &Database, above: ApiKeyId, revoked: usize, below_each: usize) {
    let (id, digest, above) = (
        database.new_id(),
        database.new_digest(),
        database.id(above.as_uuid()),
    );
    let (dead, below) = (database.series(revoked), database.series(below_each));
    database
        .execute(&format!(
            "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                                   created_at, revoked_at, end_came_at, revoked_by_kind,
                                   revoked_reason)
             SELECT {id}, consumer_id, {digest}, hint, 'dead {below_each}', description, search_text, id, created_at,
                    created_at, created_at, 'administrator', 'leak'
             FROM api_keys, {dead} WHERE id = {above};
             INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                                   created_at)
             SELECT {id}, consumer_id, {digest}, hint, 'below', description, search_text, id, created_at
             FROM api_keys, {below} WHERE name = 'dead {below_each}'"
        ))
        .await;
}

async fn removal_batch_is_limited_by_children_to_reassign(database: Database) {
    let scene = Scene::new(database).await;
    let above = scene.child;
    add_children(&scene.database, above, 6, 900).await;
    add_children(&scene.database, above, 1, 3_000).await;
    scene.make.clock.advance(TimeDelta::days(1));
    let mut batches = Vec::new();
    loop {
        match remove_keys(&scene).await {
            0 => break,
            removed => batches.push(removed),
        }
    }
    assert!(batches.len() > 1, "{batches:?}");
    assert_eq!(batches.iter().sum::<u32>(), 7);
    let above_id = scene.database.id(above.as_uuid());
    let adopted = format!("api_keys WHERE adoptive_parent_key_id = {above_id}");
    assert_eq!(scene.database.count(&adopted).await, 6 * 900 + 3_000);
    let everything = KeyTreeSize {
        ancestors: 1,
        keys: u16::MAX,
    };
    let organization = scene.bob.organization.id;
    let owners: &dyn OrganizationKeyStore = &*scene.database.store;
    let key_tree = owners.key_tree(organization, above, everything, now()).await;
    // With the key that the one above came from.
    assert_eq!(key_tree.expect("a key tree").keys.len(), 2 + 6 * 900 + 3_000);
}

/// The transactions in which dead keys were looked for, and how often children were.
fn searches(asked: &Asked) -> (usize, usize) {
    let asked = asked.statements();
    let number = |part: &str| {
        asked
            .iter()
            .filter(|asked| asked.statement.contains(part))
            .count()
    };
    (number("INNER JOIN"), number("coalesce(adoptive_parent_key_id"))
}

async fn key_with_too_many_children_is_removed_in_several_transactions(database: Database) {
    let scene = Scene::new(database).await;
    let above = scene.child;
    add_children(&scene.database, above, 1, 7_000).await;
    scene.make.clock.advance(TimeDelta::days(1));
    let asked = Asked::of(&scene.database).await;
    asked.statements();

    let removed = asked.store.remove_dead_keys(scene.make.clock.now(), ALL).await;
    assert_eq!(removed.expect("a removal"), 1);
    let (transactions, _) = searches(&asked);
    assert!(transactions >= 4, "{transactions} for 7,000 children");
    let above = scene.database.id(above.as_uuid());
    let adopted = format!("api_keys WHERE adoptive_parent_key_id = {above}");
    assert_eq!(scene.database.count(&adopted).await, 7_000);
}

async fn removal_of_topmost_key_reads_no_children(database: Database) {
    let scene = Scene::new(database).await;
    add_children(&scene.database, scene.key, 1, 0).await;
    // Its parent goes first, and leaves it at the top.
    let (key, dead) = (scene.database.id(scene.key.as_uuid()), "name = 'dead 0'");
    scene
        .database
        .execute(&format!("DELETE FROM api_keys WHERE id = {key}"))
        .await;
    scene.make.clock.advance(TimeDelta::days(1));
    let asked = Asked::of(&scene.database).await;
    asked.statements();

    let removed = asked.store.remove_dead_keys(scene.make.clock.now(), ALL).await;
    assert_eq!(removed.expect("a removal"), 1);
    assert_eq!(searches(&asked), (1, 0));
    assert_eq!(scene.database.count(&format!("api_keys WHERE {dead}")).await, 0);
}

async fn former_members_without_keys_are_not_checked_again(database: Database) {
    let scene = Scene::new(database).await;
    let member = scene.database.id(scene.bob.membership.id.as_uuid());
    let (new, many) = (scene.database.new_id(), scene.database.series(2 * ALL as usize));
    // Twice as many former members as are looked at in one transaction left before the one who has keys.
    scene
        .database
        .execute(&format!(
            "UPDATE memberships SET ended_at = joined_at, end_came_at = joined_at WHERE id = {member};
             INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at, end_came_at)
             SELECT {new}, organization_id, user_id, role, joined_at, joined_at, joined_at FROM memberships, {many}
             WHERE id = {member}"
        ))
        .await;
    scene.make.clock.advance(TimeDelta::days(1));
    let of_former = format!("api_keys WHERE consumer_id = {member}");
    let keys = scene.database.count(&of_former).await;
    assert_ne!(keys, 0);
    let mut removed = 0;
    loop {
        match remove_keys(&scene).await {
            0 => break,
            some => removed += some as usize,
        }
    }
    assert_eq!((removed, scene.database.count(&of_former).await), (keys, 0));
    let to_look_at = "memberships WHERE ended_at IS NOT NULL AND keys_removed_at IS NULL";
    assert_eq!(scene.database.count(to_look_at).await, 0);
    assert_eq!(
        scene
            .database
            .count("memberships WHERE keys_removed_at IS NOT NULL")
            .await,
        2 * ALL as usize + 1
    );
}

async fn former_members_keys_are_removed_member_by_member(database: Database) {
    let scene = Scene::new(database).await;
    let [first, second] =
        [&scene.bob, &scene.ada].map(|member| scene.database.id(member.membership.id.as_uuid()));
    let (id, digest, five) = (
        scene.database.new_id(),
        scene.database.new_digest(),
        scene.database.series(5),
    );
    let leave = |member: &str, day: i64| {
        let at = scene
            .database
            .moment(scene.make.clock.now() + TimeDelta::days(day));
        format!(
            "DELETE FROM api_keys WHERE consumer_id = {member};
             INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id,
                                   created_at)
             SELECT {id}, memberships.id, {digest}, 'kwp', 'key', '', 'key', user_id, joined_at
             FROM memberships, {five} WHERE memberships.id = {member};
             UPDATE memberships SET ended_at = {at}, end_came_at = {at} WHERE id = {member}"
        )
    };
    let statements = format!("{}; {}", leave(&first, 1), leave(&second, 2));
    scene.database.execute(&statements).await;
    scene.make.clock.advance(TimeDelta::days(3));
    let of = |member: &str| format!("api_keys WHERE consumer_id = {member}");
    let done = "memberships WHERE keys_removed_at IS NOT NULL";
    let mut seen = Vec::new();
    for _ in 0..5 {
        let removed = scene
            .database
            .store
            .remove_dead_keys(scene.make.clock.now(), 3)
            .await;
        seen.push((
            removed.expect("a removal"),
            scene.database.count(&of(&first)).await,
            scene.database.count(&of(&second)).await,
            scene.database.count(done).await,
        ));
    }
    assert_eq!(
        seen,
        [
            (3, 2, 5, 0),
            (3, 0, 4, 1),
            (3, 0, 1, 1),
            (1, 0, 0, 2),
            (0, 0, 0, 2)
        ]
    );
}

async fn created_and_removed_keys_leave_no_storage_growth(database: Database) {
    const ROUNDS: u32 = 4;
    let scene = Scene::new(database).await;
    let before = scene.database.count("api_keys").await;
    let round = async || {
        for _ in 0..50 {
            let id = scene.issue_with(scene.key).await;
            assert_eq!(scene.revoke_all(id).await, [id]);
        }
        scene.make.clock.advance(TimeDelta::days(1));
        while remove_keys(&scene).await > 0 {}
        while remove_events(&scene, scene.make.clock.now()).await > 0 {}
        scene.database.reclaim(["api_keys", "audit_events"]).await;
    };
    for _ in 0..ROUNDS {
        round().await;
    }
    let once = scene.database.size().await;
    for _ in 0..ROUNDS {
        round().await;
    }
    let twice = scene.database.size().await;
    assert_eq!(scene.database.count("api_keys").await, before);
    assert_eq!(scene.database.count("audit_events").await, 1);
    assert!(twice < once * 5 / 4, "{once}, then {twice}");
}
