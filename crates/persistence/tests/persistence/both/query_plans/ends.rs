//! Keys and memberships that end: what is due, what ends soon, and what would outlive a longest life.

use std::num::NonZeroU32;

use chrono::TimeDelta;
use keyward_domain::administration::ports::{OrganizationKeyFilter, OrganizationKeyStore};
use keyward_domain::api_key::LongestLife;
use keyward_domain::audit::Actor;
use keyward_domain::clock::Clock;
use keyward_domain::ports::{ApiKeys, KeyFilter, StatusFilter};

use super::{Listening, described, page};
use crate::database::{Database, now};

on_both!(
    due_ends_are_found_by_an_index,
    expiring_keys_are_found_by_an_index,
    keys_that_outlive_the_limit_are_found_by_index,
);

async fn due_ends_are_found_by_an_index(database: Database) {
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    let [key, member] =
        [scene.key.as_uuid(), scene.bob.membership.id.as_uuid()].map(|id| scene.database.id(id));
    let at = scene.database.moment(scene.make.clock.now());
    let planned = format!(
        "UPDATE memberships SET ended_at = {at} WHERE id = {member};
         UPDATE api_keys SET revoked_at = {at}, revoked_by_kind = 'administrator', revoked_reason = 'administrator'
         WHERE id = {key}"
    );
    scene.database.execute(&planned).await;
    let later = scene.make.clock.now() + TimeDelta::days(1);
    let (of_keys, of_memberships) = ("api_keys_planned_end_idx", "memberships_planned_end_idx");

    assert!(store.has_due(later).await.expect("an answer"));
    let of_rotated_keys = "api_keys_rotated_idx";
    let all = [of_keys, of_memberships, of_rotated_keys];
    listening.expect("whether ends are due", &all, &all).await;
    let act = || scene.make.act(Actor::System);
    assert_eq!(store.record_ends_of_keys(10, act()).await.expect("recorded"), 1);
    listening.expect("ends of keys", &[of_keys], &[of_keys]).await;
    let recorded = store.record_ends_of_memberships(10, act()).await;
    assert_eq!(recorded.expect("recorded"), 1);
    let index = [of_memberships];
    listening.expect("ends of memberships", &index, &index).await;
    assert_eq!(store.end_rotated_keys(10, act()).await.expect("ended"), 0);
    let index = [of_rotated_keys];
    listening.expect("ends of rotated keys", &index, &index).await;
}

async fn expiring_keys_are_found_by_an_index(database: Database) {
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    let database = &scene.database;
    // More than owners' lists go through one after the other.
    let (ada, more) = (scene.ada.membership.id.as_uuid(), database.series(6_000));
    let valid = format!(
        "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id, created_at)
         SELECT {}, {}, {}, hint, name, description, search_text, created_by_user_id, created_at
         FROM (SELECT * FROM api_keys WHERE created_by_user_id IS NOT NULL LIMIT 1) AS a_key, {more}",
        database.new_id(),
        database.id(ada),
        database.new_digest(),
    );
    let planned = format!(
        "UPDATE api_keys SET revoked_at = {}, revoked_by_kind = 'administrator', revoked_reason = 'expired' WHERE id = {}",
        database.moment(now() + TimeDelta::days(1)),
        database.id(scene.key.as_uuid()),
    );
    database.execute(&valid).await;
    database.settle().await;
    database.execute(&planned).await;
    let soon = now() + TimeDelta::days(7);
    drop(listening.asked.plans(database).await);

    let own = KeyFilter::new(StatusFilter::Valid, None).expiring_before(Some(soon));
    let found = ApiKeys::list(store, scene.bob.membership.id, own, page(None), now()).await;
    let found = found.expect("a page").items;
    assert_eq!(found.iter().map(|key| key.id).collect::<Vec<_>>(), [scene.key]);
    let index = ["api_keys_valid_idx"];
    listening.expect("own keys that expire", &index, &index).await;

    let of_all = OrganizationKeyFilter::new(StatusFilter::Valid, None).expiring_before(soon);
    let organization = scene.ada.organization.id;
    let found = OrganizationKeyStore::list(store, organization, of_all, page(None), now()).await;
    let found = found.expect("a page").items;
    assert_eq!(found.iter().map(|key| key.id).collect::<Vec<_>>(), [scene.key]);
    let plans = listening.asked.plans(database).await;
    let steps: String = plans.iter().map(described).collect();
    assert!(steps.contains("api_keys_organization_end_idx"), "{steps}");
    // What the index names is sorted, and nothing else is gone through.
    let of_table = ["Seq Scan on api_keys", "SCAN api_keys\n"];
    assert!(!of_table.iter().any(|scan| steps.contains(scan)), "{steps}");
}

async fn keys_that_outlive_the_limit_are_found_by_index(database: Database) {
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    let (organization, longest) = (
        scene.ada.organization.id,
        LongestLife::of_days(30).expect("a life"),
    );
    let act = || scene.make.act(Actor::Administrator);
    let limited = store.limit_key_life(organization, Some(longest), act()).await;
    limited.expect("set");
    drop(listening.asked.plans(&scene.database).await);

    let preview = store.longest_life_preview(organization, longest, now()).await;
    assert!(preview.expect("an answer").keys > 1_000);
    listening.expect("preview", &[], &[]).await;
    let filter = OrganizationKeyFilter::new(StatusFilter::Valid, None).shortened_by(longest);
    let found = OrganizationKeyStore::list(store, organization, filter, page(None), now()).await;
    assert!(found.expect("a page").next.is_some());
    let index = ["api_keys_organization_valid_idx"];
    listening.expect("list", &index, &index).await;

    let batch = NonZeroU32::new(100).expect("a number");
    let first = store
        .apply_longest_life(organization, longest, None, batch, act())
        .await;
    let after = first.expect("applied").continues_after;
    drop(listening.asked.plans(&scene.database).await);
    let second = store
        .apply_longest_life(organization, longest, after, batch, act())
        .await;
    assert_eq!(second.expect("applied").keys, 100);
    let of_postgres = [
        "api_keys_organization_valid_idx",
        "((organization_id = $1) AND (id > $5))",
    ];
    let of_sqlite = ["api_keys_organization_valid_idx (organization_id=? AND id>?)"];
    listening.expect("a later batch", &of_postgres, &of_sqlite).await;
}
