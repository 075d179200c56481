//! One member has very many keys: pages that show few of them do not read all.

use std::cmp::Reverse;

use chrono::{DateTime, TimeDelta, Utc};

use keyward_domain::administration::ports::{
    CutoffTime, HolderStatusFilter, KeySelection, LeavingPreview, MemberStore, OrganizationKeyFilter,
    OrganizationKeyStore, PreviewedKeys,
};
use keyward_domain::api_key::ApiKey;
use keyward_domain::clock::Clock;
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::StatusFilter;
use uuid::Uuid;

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    word_of_old_keys_is_found_without_reading_all,
    unused_keys_are_found_without_reading_all,
    recently_used_keys_of_member_are_found_without_reading_all,
    keys_before_a_revocation_are_counted_up_to_a_limit,
);

const KEYS: u32 = 11_000;

/// The number of oldest keys, whose names contain a word that the others do not contain.
const OLD: u32 = 5_500;

/// A key, as far as the lists here depend on it.
struct Made {
    id: Uuid,
    created_at: DateTime<Utc>,
    last_used_at: Option<DateTime<Utc>>,
}

/// Keys of Ada, each created 40 minutes after the one before.
async fn add_keys(scene: &Scene) -> Vec<Made> {
    let (database, now) = (&scene.database, scene.make.clock.now());
    let mut made = Vec::new();
    for number in 0..KEYS {
        let created_at = now - TimeDelta::minutes(i64::from(KEYS - number) * 40);
        let used_at = created_at + TimeDelta::days(i64::from(number % 20)) + TimeDelta::minutes(1);
        let milliseconds = u128::try_from(created_at.timestamp_millis()).expect("a moment after 1970");
        made.push(Made {
            id: Uuid::from_u128(milliseconds << 80 | 0x7000_8000 << 48),
            created_at,
            last_used_at: (number % 4 > 0).then(|| used_at.min(now - TimeDelta::seconds(i64::from(number)))),
        });
    }
    let (ada, user) = (scene.ada.membership.id.as_uuid(), scene.ada.user.id.as_uuid());
    // A long text, so that reading an index costs less than reading the table.
    let description = "Runs the nightly jobs. ".repeat(20);
    let mut rows = Vec::new();
    for (number, key) in made.iter().enumerate() {
        let name = if number < OLD as usize {
            "old tool"
        } else {
            "new tool"
        };
        let used_at = key
            .last_used_at
            .map_or_else(|| "NULL".to_owned(), |at| database.moment(at));
        rows.push(format!(
            "({}, {}, {}, 'kwp_…aaaa', '{name}', '{description}', '{name}', {}, {}, {used_at})",
            database.id(key.id),
            database.id(ada),
            database.digest(number + 100),
            database.id(user),
            database.moment(key.created_at),
        ));
    }
    for rows in rows.chunks(500) {
        let insert = format!(
            "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id,
                 created_at, last_used_at) VALUES {}",
            rows.join(", ")
        );
        database.execute(&insert).await;
    }
    database.settle().await;
    made
}

async fn found(scene: &Scene, filter: OrganizationKeyFilter, after: Option<Uuid>) -> Vec<Uuid> {
    let store: &dyn OrganizationKeyStore = &*scene.database.store;
    let page = PageRequest {
        size: PageSize::DEFAULT,
        after: after.map(ApiKeyId::from_uuid),
    };
    let page = store
        .list(scene.ada.organization.id, filter, page, scene.make.clock.now())
        .await
        .expect("a page");
    page.items.iter().map(|key| key.id.as_uuid()).collect()
}

/// How many rows of a table, or entries of its indexes, PostgreSQL read for this. SQLite does not count them.
async fn read_for<T>(database: &Database, table: &str, ask: impl Future<Output = T>) -> (T, usize) {
    if !database.is_postgres() {
        return (ask.await, 0);
    }
    let before = database.rows_read(table).await;
    let answer = ask.await;
    (answer, database.rows_read(table).await - before)
}

async fn word_of_old_keys_is_found_without_reading_all(database: Database) {
    let scene = Scene::new(database).await;
    let made = add_keys(&scene).await;
    let old: Vec<Uuid> = made.iter().take(OLD as usize).map(|key| key.id).rev().collect();
    let filter = || OrganizationKeyFilter::new(StatusFilter::Valid, Some("old"));
    for (after, expected) in [(None, &old[..50]), (Some(old[4_999]), &old[5_000..5_050])] {
        let ask = found(&scene, filter(), after);
        let (found, read) = read_for(&scene.database, "api_key_search", ask).await;
        assert_eq!(found, expected);
        assert!(read < 4_000, "{read} rows were read of {OLD}");
    }
}

async fn unused_keys_are_found_without_reading_all(database: Database) {
    let scene = Scene::new(database).await;
    let made = add_keys(&scene).await;
    for days in [40, 100, 200] {
        let since = scene.make.clock.now() - TimeDelta::days(days);
        let unused = |key: &&Made| key.last_used_at.unwrap_or(key.created_at) < since;
        let expected: Vec<Uuid> = made.iter().filter(unused).map(|key| key.id).rev().collect();
        assert!(expected.len() > 1_000);
        let filter = OrganizationKeyFilter::new(StatusFilter::Valid, None)
            .held_by(HolderStatusFilter::Members)
            .unused_since(since);
        for (after, expected) in [
            (None, &expected[..50]),
            (Some(expected[499]), &expected[500..550]),
        ] {
            let ask = found(&scene, filter.clone(), after);
            let (found, read) = read_for(&scene.database, "api_keys", ask).await;
            assert_eq!(found, expected, "{days} days");
            assert!(read < 6_000, "{read} rows were read for {days} days");
        }
    }
}

async fn recently_used_keys_of_member_are_found_without_reading_all(database: Database) {
    let scene = Scene::new(database).await;
    let mut made = add_keys(&scene).await;
    let used_after = scene.make.clock.now() - TimeDelta::days(7);
    let store: &dyn MemberStore = &*scene.database.store;
    let (organization, ada) = (scene.ada.organization.id, scene.ada.membership.id);
    let database = &scene.database;
    let fetched = async || {
        if database.is_postgres() {
            database.rows_fetched("api_keys").await
        } else {
            0
        }
    };
    let before = fetched().await;
    let preview: LeavingPreview<ApiKey> = store
        .leaving_preview(organization, ada, used_after, scene.make.clock.now())
        .await
        .expect("a preview");
    let fetched = fetched().await - before;
    assert!(fetched < 2_000, "{fetched} rows were fetched of {KEYS}");

    let recent = made
        .iter()
        .filter(|key| key.last_used_at > Some(used_after))
        .count();
    assert_eq!(preview.recently_used as usize, recent);
    made.sort_by_key(|key| Reverse((key.last_used_at, key.id)));
    let first: Vec<Uuid> = preview.first.iter().map(|key| key.id.as_uuid()).collect();
    let expected: Vec<Uuid> = made.iter().take(50).map(|key| key.id).collect();
    assert_eq!(first, expected);
}

async fn keys_before_a_revocation_are_counted_up_to_a_limit(database: Database) {
    let scene = Scene::new(database).await;
    let made = add_keys(&scene).await;
    let (organization, now) = (scene.ada.organization.id, scene.make.clock.now());
    let store: &dyn OrganizationKeyStore = &*scene.database.store;
    let before = |moment| KeySelection::IssuedBefore(CutoffTime::new(moment, now).expect("a cut-off time"));
    for (selection, keys, has_more, most_read) in [
        (
            KeySelection::OfConsumer(scene.ada.membership.id),
            PreviewedKeys::COUNTED,
            true,
            PreviewedKeys::COUNTED,
        ),
        (
            before(now - TimeDelta::minutes(1)),
            PreviewedKeys::COUNTED,
            true,
            PreviewedKeys::COUNTED,
        ),
        // Half of the table, which PostgreSQL may read as a whole.
        (
            before(made[PreviewedKeys::COUNTED].created_at),
            PreviewedKeys::COUNTED,
            false,
            made.len(),
        ),
        (before(made[30].created_at), 30, false, 30),
    ] {
        let ask = store.revocation_preview(organization, selection.clone(), now);
        let (stake, read) = read_for(&scene.database, "api_keys", ask).await;
        let stake = stake.expect("an answer").selected;
        assert_eq!(
            (stake.keys as usize, stake.has_more),
            (keys, has_more),
            "{selection:?}"
        );
        assert_eq!((stake.holders, stake.without_access), (1, 0), "{selection:?}");
        assert_eq!(stake.first.len(), PreviewedKeys::SHOWN, "{selection:?}");
        assert!(read < most_read + 200, "{read} rows were read: {selection:?}");
    }
}
