//! Filters that few keys pass, among more keys than a list scans: whichever index is used, the list shows the
//! same keys as the domain's filter.

mod scan_cost;

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::administration::ports::{
    HeldKey, HolderStatusFilter, OrganizationKeyFilter, OrganizationKeyStore,
};
use keyward_domain::clock::Clock;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{ApiKeys, KeyFilter, StatusFilter, search_term};
use keyward_domain::text::folded;
use uuid::Uuid;

use crate::both::changes::Change;
use crate::both::scene::Scene;
use crate::database::{Database, now};

on_both!(
    every_search_term_matches_like_the_domain,
    every_filter_combination_matches_like_the_domain,
    own_keys_are_found_by_every_term,
    key_search_reflects_edits_and_removals,
);

/// More than are looked at one after the other, twice.
const KEYS: u32 = 12_000;

const STATUSES: [StatusFilter; 3] = [StatusFilter::Valid, StatusFilter::Revoked, StatusFilter::All];

/// The words of names. The newer half of the keys has only words of the first line.
const WORDS: [&[&str]; 2] = [
    &["deploy", "Bot", "nightly", "CI", "запуск", "鍵"],
    &[
        "Größe",
        "STRASSE",
        "ſeltsam",
        "İstanbul",
        "ısı",
        "Ключ",
        "ΟΔΟΣ",
        "🔑",
        "👩‍👩‍👧‍👦",
        "e\u{301}tude",
        "100%",
        "a_b",
        "back\\slash",
        "it's",
        "\"quoted\"",
        "नमस्ते",
        "مفتاح",
        "ﷺ",
        "tag:*",
        "a&b",
        "x OR y",
        "(z)",
        "ﬁn",
        "Å",
        "ก็",
    ],
];

/// The same numbers in each run (G. Marsaglia, "Xorshift RNGs", 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).expect("a bound")).expect("a number")
    }
}

fn id(number: u32) -> ApiKeyId {
    ApiKeyId::from_uuid(Uuid::from_u128(
        0x0f00_0000_0000_7000_8000 << 48 | u128::from(number),
    ))
}

fn moment(database: &Database, moment: DateTime<Utc>) -> String {
    if database.is_postgres() {
        format!("'{moment}'")
    } else {
        moment.timestamp_millis().to_string()
    }
}

/// Ada's and Bob's keys: every third is revoked, and every second of the older half was used.
async fn add_keys(scene: &Scene, numbers: &mut Numbers) {
    let database = &scene.database;
    let begin = scene.make.clock.now() - TimeDelta::days(400);
    let mut rows = Vec::new();
    for number in 0..KEYS {
        let words = if number < KEYS / 2 {
            WORDS.concat()
        } else {
            WORDS[0].to_vec()
        };
        let mut word = || words[numbers.below(words.len())];
        // Many old keys contain this, and many were not used for 150 days, but one only is both.
        let common = if number == 8 || number < KEYS / 2 && number % 2 == 0 && number % 200 > 60 {
            " common"
        } else {
            ""
        };
        let (name, description) = (
            format!("{} {} {number}", word(), word()),
            format!("{}\n{}{common}", word(), word()),
        );
        let last_four = format!("{:04}", number % 10_000);
        let search_text = folded(&format!("{name}\n{description}\n{last_four}"));
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let created_at = moment(database, begin + TimeDelta::minutes(i64::from(number) * 40));
        let revoked = if number % 3 == 0 {
            format!("{created_at}, {created_at}, 'administrator', 'holder'")
        } else {
            "NULL, NULL, NULL, NULL".to_owned()
        };
        let used_at = if number < KEYS / 2 && number % 2 == 0 {
            moment(database, begin + TimeDelta::days(200 + i64::from(number % 200)))
        } else {
            "NULL".to_owned()
        };
        let holder = if number % 5 == 0 { &scene.bob } else { &scene.ada };
        rows.push(format!(
            "({}, {}, {}, 'kwp_…{last_four}', {}, {}, {}, {}, {created_at}, {revoked}, {used_at})",
            database.id(id(number).as_uuid()),
            database.id(holder.membership.id.as_uuid()),
            database.digest(usize::try_from(number).expect("a number") + 100),
            quoted(&name),
            quoted(&description),
            quoted(&search_text),
            database.id(holder.user.id.as_uuid()),
        ));
    }
    // Half of them come later than newer ones.
    let (even, odd): (Vec<_>, Vec<_>) = rows
        .chunks(500)
        .enumerate()
        .partition(|(chunk, _)| chunk % 2 == 0);
    for (_, rows) in even.into_iter().chain(odd) {
        database
            .execute(&format!(
                "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text,
                     created_by_user_id, created_at, revoked_at, end_came_at, revoked_by_kind, revoked_reason,
                     last_used_at)
                 VALUES {}",
                rows.join(", ")
            ))
            .await;
    }
    if database.is_postgres() {
        database.execute("ANALYZE").await;
    }
}

/// Parts of what is searched, and what a database could take for something else.
fn terms(keys: &[HeldKey], numbers: &mut Numbers) -> Vec<String> {
    let mut terms: Vec<String> = [
        "nobody has this",
        "%",
        "_",
        "\\",
        "'",
        "\"",
        "*",
        ":*",
        "&",
        "|",
        "!",
        "(",
        "or",
        "AND",
        "ß",
        "ss",
        "i",
        "İ",
        "ı",
        "ς",
        "σ",
        "fi",
        "ﬁ",
        "å",
        "\u{301}",
        "é",
        "👩",
        "\u{200d}",
        "a_b",
        "%\\",
        "st",
        "ada",
        "bob",
        "common",
        // The names of newer keys have the four digits, too.
        "kwp_…1100",
        "kwp_…1123",
    ]
    .map(str::to_owned)
    .to_vec();
    for length in [1, 2, 3, 4, 7, 40] {
        let text: Vec<char> = text_of(&keys[numbers.below(keys.len())]).chars().collect();
        let begin = numbers.below(text.len().saturating_sub(length).max(1));
        terms.push(text.iter().skip(begin).take(length).collect());
    }
    terms
}

fn text_of(key: &HeldKey) -> String {
    folded(&format!(
        "{}\n{}\n{}",
        key.name,
        key.description,
        key.hint.last_four()
    ))
}

/// Like [`OrganizationKeyFilter::accepts`], but for a key as owners see it.
fn passes(filter: &OrganizationKeyFilter, key: &HeldKey) -> bool {
    let has_status = match filter.status {
        StatusFilter::Valid => key.is_valid(now()),
        StatusFilter::Revoked => !key.is_valid(now()),
        StatusFilter::All => true,
    };
    let is_unused = filter.unused_since.is_none_or(|since| {
        key.is_valid(now()) && key.created_at < since && key.last_use.is_none_or(|last| last.at < since)
    });
    let expires = filter
        .expires_before
        .is_none_or(|time| key.expires_at(now()).is_some_and(|at| at < time));
    let membership = &key.holder.membership;
    has_status
        && filter.hint().is_none_or(|hint| key.hint == *hint)
        && is_unused
        && expires
        && filter.consumer.is_none_or(|consumer| membership.id == consumer)
        && filter.holders.accepts(membership, now())
        && filter
            .term()
            .is_none_or(|term| text_of(key).contains(term) || key.holder.user.search_text().contains(term))
}

async fn page(
    scene: &Scene,
    filter: &OrganizationKeyFilter,
    after: Option<ApiKeyId>,
    size: PageSize,
) -> (Vec<HeldKey>, Option<ApiKeyId>) {
    let store: &dyn OrganizationKeyStore = &*scene.database.store;
    let page = store.list(
        scene.ada.organization.id,
        filter.clone(),
        PageRequest { size, after },
        now(),
    );
    let page = page.await.expect("a page");
    (page.items, page.next)
}

async fn all_keys(scene: &Scene) -> Vec<HeldKey> {
    let all = OrganizationKeyFilter::new(StatusFilter::All, None);
    let (mut keys, mut after) = page(scene, &all, None, PageSize::EXPORT).await;
    while after.is_some() {
        let (more, next) = page(scene, &all, after, PageSize::EXPORT).await;
        keys.extend(more);
        after = next;
    }
    keys
}

/// The first page, and one in the middle.
async fn assert_found(scene: &Scene, filter: &OrganizationKeyFilter, keys: &[HeldKey]) {
    let expected: Vec<&HeldKey> = keys.iter().filter(|key| passes(filter, key)).collect();
    let size = PageSize::DEFAULT;
    let middle = expected.len() / 2;
    for first in [0, middle] {
        let Some(after) = first.checked_sub(1).map(|last| expected.get(last)) else {
            let (found, _) = page(scene, filter, None, size).await;
            let newest: Vec<&HeldKey> = expected.iter().take(size.items()).copied().collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), newest, "{filter:?}");
            continue;
        };
        let Some(after) = after else { continue };
        let (found, next) = page(scene, filter, Some(after.id), size).await;
        let found: Vec<ApiKeyId> = found.iter().map(|key| key.id).collect();
        let rest: Vec<ApiKeyId> = expected.iter().skip(first).map(|key| key.id).collect();
        let ids: Vec<ApiKeyId> = rest.iter().take(size.items()).copied().collect();
        assert_eq!(found, ids, "{filter:?} after {first}");
        assert_eq!(
            next,
            ids.last().copied().filter(|_| rest.len() > ids.len()),
            "{filter:?} after {first}"
        );
    }
}

async fn every_search_term_matches_like_the_domain(database: Database) {
    let scene = Scene::new(database).await;
    let mut numbers = Numbers(7);
    add_keys(&scene, &mut numbers).await;
    let keys = all_keys(&scene).await;
    assert_eq!(keys.len(), usize::try_from(KEYS).expect("a number") + 2);
    for (number, term) in terms(&keys, &mut numbers).iter().enumerate() {
        let filter = OrganizationKeyFilter::new(STATUSES[number % STATUSES.len()], Some(term));
        assert_found(&scene, &filter, &keys).await;
    }
}

async fn every_filter_combination_matches_like_the_domain(database: Database) {
    let scene = Scene::new(database).await;
    add_keys(&scene, &mut Numbers(23)).await;
    let now = scene.make.clock.now();
    scene.attempt(Change::RemoveMember).await.expect("Bob is removed");
    let keys = all_keys(&scene).await;
    for term in [None, Some("deploy"), Some("common"), Some("nobody has this")] {
        for days in [None, Some(150), Some(500)] {
            for holders in [
                HolderStatusFilter::All,
                HolderStatusFilter::Members,
                HolderStatusFilter::FormerMembers,
            ] {
                for consumer in [None, Some(scene.bob.membership.id)] {
                    let mut filter = OrganizationKeyFilter::new(StatusFilter::Valid, term).held_by(holders);
                    if let Some(days) = days {
                        filter = filter.unused_since(now - TimeDelta::days(days));
                    }
                    if let Some(consumer) = consumer {
                        filter = filter.of_consumer(consumer);
                    }
                    assert_found(&scene, &filter, &keys).await;
                }
            }
        }
    }
}

async fn found(scene: &Scene, consumer: MembershipId, filter: KeyFilter) -> Vec<ApiKeyId> {
    let (store, mut found, mut after) = (&*scene.database.store, Vec::new(), None);
    for _ in 0..2 {
        let size = PageSize::DEFAULT;
        let page = ApiKeys::list(
            store,
            consumer,
            filter.clone(),
            PageRequest { size, after },
            now(),
        );
        let page = page.await.expect("a page");
        found.extend(page.items.iter().map(|key| key.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    found
}

async fn own_keys_are_found_by_every_term(database: Database) {
    let scene = Scene::new(database).await;
    let mut numbers = Numbers(11);
    add_keys(&scene, &mut numbers).await;
    let ada = scene.ada.membership.id;
    let mut keys = all_keys(&scene).await;
    keys.retain(|key| key.holder.membership.id == ada);
    for (number, term) in terms(&keys, &mut numbers).iter().enumerate() {
        let status = STATUSES[number % STATUSES.len()];
        let (of_status, folded) = (
            OrganizationKeyFilter::new(status, None),
            search_term(term).unwrap_or_default(),
        );
        let filter = KeyFilter::new(status, Some(term));
        let has_hint = |key: &HeldKey| filter.hint().is_none_or(|hint| key.hint == *hint);
        let expected = keys
            .iter()
            .filter(|key| passes(&of_status, key) && has_hint(key) && text_of(key).contains(&folded));
        let expected: Vec<ApiKeyId> = expected.map(|key| key.id).take(100).collect();
        assert_eq!(found(&scene, ada, filter).await, expected, "{term:?} {status:?}");
    }
}

/// Changes keys in plain SQL, as a previous version without the search tables would.
async fn key_search_reflects_edits_and_removals(database: Database) {
    let scene = Scene::new(database).await;
    add_keys(&scene, &mut Numbers(13)).await;
    let search = async |term: &str| {
        let filter = OrganizationKeyFilter::new(StatusFilter::All, Some(term));
        let (keys, _) = page(&scene, &filter, None, PageSize::DEFAULT).await;
        keys.iter().map(|key| key.id).collect::<Vec<_>>()
    };
    let key = |number| scene.database.id(id(number).as_uuid());
    assert_eq!(search("new and rare").await, []);
    let edit = format!(
        "UPDATE api_keys SET name = 'New and rare', search_text = 'new and rare' WHERE id IN ({}, {})",
        key(7),
        key(8)
    );
    scene.database.execute(&edit).await;
    assert_eq!(search("NEW and rare").await, [id(8), id(7)]);
    scene
        .database
        .execute(&format!("DELETE FROM api_keys WHERE id = {}", key(8)))
        .await;
    assert_eq!(search("new and rare").await, [id(7)]);
    let edit = format!(
        "UPDATE api_keys SET search_text = 'as before' WHERE id = {}",
        key(7)
    );
    scene.database.execute(&edit).await;
    assert_eq!(search("new and rare").await, []);
    assert_eq!(search("as before").await, [id(7)]);
}
