//! How many keys a filtered list reads, beside those that it shows.

use chrono::TimeDelta;
use keyward_domain::administration::ports::{
    HolderStatusFilter, OrganizationKeyFilter, OrganizationKeyStore,
};
use keyward_domain::clock::Clock;
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{ApiKeys, KeyFilter, StatusFilter};

use super::{KEYS, Numbers, STATUSES, add_keys, id, moment, page};
use crate::asked::Asked;
use crate::both::scene::Scene;
use crate::database::{Database, now};

on_both!(
    search_without_match_skips_most_keys,
    members_old_keys_are_found_behind_others_newer_ones,
    word_of_others_keys_is_searched_for_once,
    exact_name_is_found_behind_longer_ones_page_by_page,
);

/// The query plans of SQLite are tested in `sqlite/tests/plans.rs` of the sources.
async fn search_without_match_skips_most_keys(database: Database) {
    let scene = Scene::new(database).await;
    let database = &scene.database;
    add_keys(&scene, &mut Numbers(17)).await;
    // More than are looked at one after the other, several times.
    let copies = format!(
        "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id,
             created_at, last_used_at)
         SELECT {}, consumer_id, {}, hint, name, description, search_text, created_by_user_id, created_at, {}
         FROM api_keys, {} WHERE created_by_user_id IS NOT NULL",
        database.new_id(),
        database.new_digest(),
        moment(database, scene.make.clock.now()),
        database.series(1)
    );
    database.execute(&copies).await;
    if database.is_postgres() {
        database.execute("VACUUM ANALYZE").await;
    }
    let long_ago = scene.make.clock.now() - TimeDelta::days(1_000);
    let filter = |term: Option<&str>| OrganizationKeyFilter::new(StatusFilter::Valid, term);
    for filter in [
        filter(Some("nobody has this")),
        filter(Some("zq")),
        OrganizationKeyFilter::named("nobody has this"),
        OrganizationKeyFilter::named("zqzq"),
        filter(None).unused_since(long_ago),
        filter(None).expiring_before(scene.make.clock.now() + TimeDelta::days(1)),
        filter(None).held_by(HolderStatusFilter::FormerMembers),
        filter(Some("nobody has this")).held_by(HolderStatusFilter::Members),
    ] {
        let before = if database.is_postgres() {
            database.rows_read("api_keys").await
        } else {
            0
        };
        let (keys, _) = page(&scene, &filter, None, PageSize::DEFAULT).await;
        assert_eq!(keys, [], "{filter:?}");
        if database.is_postgres() {
            let read = database.rows_read("api_keys").await - before;
            assert!(read < 12_000, "{read} rows were read for {filter:?}");
        }
    }
}

/// The query plans of SQLite are tested in `sqlite/tests/plans.rs` of the sources.
async fn members_old_keys_are_found_behind_others_newer_ones(database: Database) {
    let scene = Scene::new(database).await;
    let database = &scene.database;
    add_keys(&scene, &mut Numbers(19)).await;
    let newer = format!(
        "DELETE FROM api_keys WHERE consumer_id = {} AND id > {}",
        database.id(scene.bob.membership.id.as_uuid()),
        database.id(id(KEYS / 10).as_uuid()),
    );
    database.execute(&newer).await;
    if database.is_postgres() {
        database.execute("VACUUM ANALYZE").await;
    }
    let bob = scene.bob.membership.id;
    for status in STATUSES {
        let before = if database.is_postgres() {
            database.rows_read("api_keys").await
        } else {
            0
        };
        let filter = OrganizationKeyFilter::new(status, None).of_consumer(bob);
        let (theirs, _) = page(&scene, &filter, None, PageSize::DEFAULT).await;
        let size = PageRequest {
            size: PageSize::DEFAULT,
            after: None,
        };
        let own = ApiKeys::list(&*database.store, bob, KeyFilter::new(status, None), size, now()).await;
        let own: Vec<ApiKeyId> = own.expect("a page").items.iter().map(|key| key.id).collect();
        assert_eq!(own.len(), 50);
        assert_eq!(theirs.iter().map(|key| key.id).collect::<Vec<_>>(), own);
        if database.is_postgres() {
            let read = database.rows_read("api_keys").await - before;
            // Others have 9,600 newer ones.
            assert!(read < 6_000, "{read} rows were read for {status:?}");
        }
    }
}

/// However many keys of others contain a word: a page of one consumer's keys does not read all of them.
async fn word_of_others_keys_is_searched_for_once(database: Database) {
    let scene = Scene::new(database).await;
    let database = &scene.database;
    add_keys(&scene, &mut Numbers(29)).await;
    let (ada, bob) = (scene.ada.membership.id, scene.bob.membership.id);
    let others = format!(
        "UPDATE api_keys SET search_text = 'others' WHERE consumer_id = {}",
        database.id(bob.as_uuid())
    );
    database.execute(&others).await;
    let of_ada = format!(
        "UPDATE api_keys SET search_text = 'others and hers' WHERE id = {}",
        database.id(id(1).as_uuid())
    );
    database.execute(&of_ada).await;
    let asked = Asked::of(database).await;
    let searches = || {
        // Each search of the index begins with one of these.
        let begins_search = |statement: &str| {
            ["AS digits", "json_each('[0,"]
                .iter()
                .any(|part| statement.contains(part))
        };
        asked
            .statements()
            .iter()
            .filter(|asked| begins_search(&asked.statement))
            .count()
    };
    let page = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let filter = KeyFilter::new(StatusFilter::All, Some("others"));
    let own = ApiKeys::list(&*asked.store, ada, filter, page, now()).await;
    let own: Vec<ApiKeyId> = own.expect("a page").items.iter().map(|key| key.id).collect();
    assert_eq!(own, [id(1)]);
    assert_eq!(searches(), 1, "of the consumer's own keys");
    let filter = OrganizationKeyFilter::new(StatusFilter::All, Some("others")).of_consumer(ada);
    let of_one =
        OrganizationKeyStore::list(&*asked.store, scene.ada.organization.id, filter, page, now()).await;
    let of_one: Vec<ApiKeyId> = of_one.expect("a page").items.iter().map(|key| key.id).collect();
    assert_eq!(of_one, [id(1)]);
    assert_eq!(searches(), 1, "of the organization's keys of one consumer");
}

/// The index finds texts that have the name at the end of any line.
async fn exact_name_is_found_behind_longer_ones_page_by_page(database: Database) {
    const OLD: u32 = 8;
    let scene = Scene::new(database).await;
    let database = &scene.database;
    add_keys(&scene, &mut Numbers(31)).await;
    for (name, of) in [("my ci", "<>"), ("ci", "=")] {
        let old = database.id(id(OLD).as_uuid());
        let renamed = format!("UPDATE api_keys SET search_text = '{name}\n\n1234' WHERE id {of} {old}");
        database.execute(&renamed).await;
    }
    let (mut found, mut pages, mut after) = (Vec::new(), 0, None);
    while pages == 0 || after.is_some() {
        let filter = OrganizationKeyFilter::named("CI");
        let (keys, next) = page(&scene, &filter, after, PageSize::DEFAULT).await;
        found.extend(keys.iter().map(|key| key.id));
        (after, pages) = (next, pages + 1);
    }
    assert_eq!((found, pages), (vec![id(OLD)], 3));
}
