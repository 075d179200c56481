//! Searches that PostgreSQL itself would refuse, and how it plans searches.

use chrono::TimeDelta;
use keyward_domain::administration::ports::{
    HolderStatusFilter, OrganizationKeyFilter, OrganizationKeyStore,
};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{ApiKeys, KeyFilter, StatusFilter};

use crate::asked::Prepared;
use crate::database::now;
use crate::postgres::fixture::{Fixture, long_timeouts, store};

use crate::postgres::proxy::Proxy;

/// How often PostgreSQL plans a prepared statement for its values, before it may go over to one plan for all
/// values (PostgreSQL documentation, PREPARE).
const PLANNED_FOR_VALUES: u32 = 5;

#[tokio::test]
async fn search_for_nul_finds_nothing() {
    let fixture = Fixture::new().await;
    let consumer = fixture.holder().consumer().id;
    for (term, found) in [("first", 1), ("\0", 0), ("first\0", 0), ("fi\0rst", 0)] {
        let filter = KeyFilter::new(StatusFilter::All, Some(term));
        let page = PageRequest {
            size: PageSize::DEFAULT,
            after: None,
        };
        let page = ApiKeys::list(&fixture.store, consumer, filter, page, now()).await;
        let page = page.expect("an answer");
        assert_eq!((page.items.len(), page.next), (found, None), "{term:?}");
    }
}

/// For any characters, so that few keys cannot make the index large.
#[tokio::test]
async fn search_index_has_few_different_entries() {
    let fixture = Fixture::new().await;
    let query = "SELECT count(DISTINCT right(gram, 1)) AS letters, count(DISTINCT gram) AS grams
         FROM generate_series(19968, 39967) AS code,
             unnest(tsvector_to_array(search_grams(
                 '00000000-0000-0000-0000-000000000000', '019a0000-0000-0000-0000-000000000000', repeat(chr(code), 3)
             ))) AS gram";
    let row = fixture.client.query_one(query, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>("letters"), 64);
    assert_eq!(row.get::<_, i64>("grams"), 3 * 64, "of 20,000 characters");
}

/// Otherwise a search for digits would read keys without digits.
#[tokio::test]
async fn search_index_distinguishes_common_characters() {
    let fixture = Fixture::new().await;
    for common in [
        "abcdefghijklmnopqrstuvwxyz0123456789 -./:",
        "абвгдежзийклмнопрстуфхцчшщъыьэюя0123456789 -",
    ] {
        let query = "SELECT count(DISTINCT search_grams(
                 '00000000-0000-0000-0000-000000000000', '019a0000-0000-0000-0000-000000000000', one
             )) AS entries FROM string_to_table($1, NULL) AS one";
        let row = fixture.client.query_one(query, &[&common]).await.unwrap();
        assert_eq!(
            row.get::<_, i64>("entries"),
            common.chars().count() as i64,
            "{common}"
        );
    }
}

#[tokio::test]
async fn repeated_search_is_planned_for_its_values_each_time() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let mut config = long_timeouts(&proxy.url("127.0.0.1"));
    config.max_connections = 1;
    let store = store(config);
    let (consumer, organization) = (fixture.holder().consumer().id, fixture.owner.organization.id);
    let page = || PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let by_term = || OrganizationKeyFilter::new(StatusFilter::All, Some("first"));
    let unused = || {
        OrganizationKeyFilter::new(StatusFilter::Valid, None)
            .held_by(HolderStatusFilter::Members)
            .unused_since(now() + TimeDelta::days(1))
    };
    for _ in 0..=PLANNED_FOR_VALUES {
        let own = KeyFilter::new(StatusFilter::All, Some("first"));
        let own = ApiKeys::list(&store, consumer, own, page(), now()).await;
        assert_eq!(own.expect("an answer").items.len(), 1);
        for filter in [by_term(), unused()] {
            let all = OrganizationKeyStore::list(&store, organization, filter, page(), now()).await;
            assert_eq!(all.expect("an answer").items.len(), 1);
        }
        let exact = ApiKeys::find(&store, consumer, fixture.key.key.id).await;
        assert!(exact.expect("an answer").is_some());
    }
    let asked = proxy.take_statements();
    let searches = asked.iter().filter(|asked| {
        let statement = &asked.statement;
        ["search_text\" LIKE", "= ANY", " OFFSET "]
            .iter()
            .any(|part| statement.contains(part))
    });
    let searches: Vec<_> = searches.collect();
    assert!(searches.len() > 3 * PLANNED_FOR_VALUES as usize, "{asked:?}");
    for search in searches {
        assert!(search.executions <= PLANNED_FOR_VALUES, "{search:?}");
    }
    // An exact lookup is prepared once.
    assert!(asked.iter().any(|asked| asked.executions > PLANNED_FOR_VALUES));
}

/// To plan them takes longer than to find the keys.
#[tokio::test]
async fn first_pages_of_many_keys_are_planned_once() {
    let fixture = Fixture::new().await;
    let more = "SET session_replication_role = replica;
         INSERT INTO api_keys (id, consumer_id, organization_id, digest, hint, name, description, search_text,
             created_by_user_id, created_at, tree_began_at, idle_since_day)
         SELECT gen_random_uuid(), consumer_id, organization_id, sha256(CAST(CAST(number AS text) AS bytea)), hint, name,
             description, search_text, created_by_user_id, created_at, tree_began_at, idle_since_day
         FROM (SELECT * FROM api_keys LIMIT 1) AS one, generate_series(1, 60000) AS number;
         VACUUM ANALYZE";
    for statement in more.split_inclusive(';') {
        fixture.client.batch_execute(statement).await.unwrap();
    }
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let store = store(long_timeouts(&proxy.url("127.0.0.1")));
    let page = || PageRequest::first(PageSize::DEFAULT);

    let organization = fixture.owner.organization.id;
    let valid = OrganizationKeyFilter::new(StatusFilter::Valid, None).held_by(HolderStatusFilter::Members);
    OrganizationKeyStore::list(&store, organization, valid, page(), now())
        .await
        .expect("a page");
    let all = proxy.take_statements();
    let values = format!("'{{{organization}}}', now(), now()");
    assert_planned_once(&fixture, &all, "organization_id", &values).await;

    let consumer = fixture.holder().consumer().id;
    let valid = KeyFilter::new(StatusFilter::Valid, None);
    ApiKeys::list(&store, consumer, valid, page(), now())
        .await
        .expect("a page");
    let own = proxy.take_statements();
    let values = format!("'{{{consumer}}}', now()");
    assert_planned_once(&fixture, &own, "consumer_id", &values).await;
}

/// Of these statements, the list in the order of a column, executed with these values.
async fn assert_planned_once(fixture: &Fixture, asked: &[Prepared], column: &str, values: &str) {
    let order = format!("ORDER BY \"api_keys\".\"{column}\"");
    let listing = asked.iter().find(|asked| asked.statement.contains(&order));
    let listing = &listing.expect("a list").statement;
    let prepare = format!("PREPARE {column} AS {listing}");
    fixture.client.batch_execute(&prepare).await.expect("prepared");
    let execute = format!("EXECUTE {column} ({values})");
    for _ in 0..=PLANNED_FOR_VALUES {
        fixture.client.batch_execute(&execute).await.expect("executed");
    }
    let query = "SELECT generic_plans FROM pg_prepared_statements WHERE name = $1";
    let planned = fixture
        .client
        .query_one(query, &[&column])
        .await
        .expect("a number");
    assert_eq!(planned.get::<_, i64>(0), 1, "{listing}");
}
