//! Query plans of SQLite for key trees in which nearly all keys are dead, and for lists of an organization's
//! keys with a filter that few match.

use std::num::NonZeroU32;

use chrono::{DateTime, TimeDelta};
use diesel::prelude::{QueryableByName, RunQueryDsl};
use diesel::sql_types::{BigInt, Text};
use keyward_domain::administration::ports::{
    HolderStatusFilter, KeySelection, KeyTreeSize, MemberStore, OrganizationKeyFilter, OrganizationKeyStore,
};
use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::audit::Actor;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{ApiKeys, DescendantKeys, StatusFilter, StorageError};
use keyward_domain::retention::ports::RetentionStore;
use keyward_domain::testing::Builder;
use tempfile::TempDir;
use uuid::Uuid;

use super::noted_statements::noted;
use super::scene::scene;
use super::steps;
use crate::sqlite::SqliteStore;

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// The steps of a statement, one a line.
async fn plan(store: &SqliteStore, statement: &str) -> String {
    let explain = format!("EXPLAIN QUERY PLAN {statement}");
    let steps =
        store.read_blocking(move |connection| Ok(diesel::sql_query(explain).load::<Step>(connection)?));
    let steps = steps.await.unwrap();
    steps.iter().map(|step| format!("{}\n", step.detail)).collect()
}

/// Whether a step looks at no keys, at keys by their identifier, or at valid ones only.
fn passes_dead_keys_over(step: &str) -> bool {
    // An index that SQLite makes for the one statement: for that it looks at all of the table.
    if step.contains(" AUTOMATIC ") {
        return false;
    }
    match step
        .split_once(" INDEX ")
        .filter(|(_, index)| index.contains("api_keys"))
    {
        Some((_, index)) => {
            let by_identifier = index.ends_with("(id=?)") || index.ends_with(" AND id=?)");
            let without_dead = [
                "api_keys_valid_idx",
                "api_keys_used_idx",
                "api_keys_organization_end_idx",
            ];
            by_identifier || without_dead.iter().any(|name| index.starts_with(name))
        }
        None => {
            let looked_through = step
                .strip_prefix("SCAN ")
                .and_then(|table| table.split(' ').next());
            let few = [
                "chain",
                "climb",
                "goals",
                "consumers",
                "starts",
                "aimed",
                "(subquery-15)",
                "roots",
                "below",
                "json_each",
                "memberships",
            ];
            looked_through.is_none_or(|table| few.contains(&table))
        }
    }
}

/// The only statement that may look at dead keys one after the other: it has a limit.
fn has_a_limit(statement: &str, step: &str) -> bool {
    step == "SEARCH child USING INDEX api_keys_effective_parent_idx (<expr>=?)"
        && statement.contains("LIMIT ?")
}

#[tokio::test]
async fn dead_keys_of_a_key_tree_are_skipped() {
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    let (consumer, key) = (
        MembershipId::from_uuid(Uuid::nil()),
        ApiKeyId::from_uuid(Uuid::nil()),
    );
    let organization = OrganizationId::from_uuid(Uuid::nil());
    let (keys, owners) = (&store as &dyn ApiKeys, &store as &dyn OrganizationKeyStore);
    let make = Builder::new(1);
    let act = || make.act(Actor::Administrator);
    let selection = || KeySelection::Keys {
        ids: vec![key],
        descendants: DescendantKeys::Revoke,
    };
    // Too small for both keys, so that it is found out which come first.
    let size = KeyTreeSize {
        ancestors: 1,
        keys: 1,
    };

    let statements = noted(&store).await;
    keys.valid_descendants(consumer, key, DateTime::UNIX_EPOCH)
        .await
        .unwrap();
    assert!(
        owners
            .key_tree(organization, key, size, DateTime::UNIX_EPOCH)
            .await
            .unwrap()
            .has_more
    );
    owners
        .revocation_preview(organization, selection(), DateTime::UNIX_EPOCH)
        .await
        .unwrap();
    let (first, reason) = (NonZeroU32::MIN, RevocationReason::Owner);
    let revoked = owners.revoke(organization, selection(), first, reason, None, act());
    assert_eq!(revoked.await.unwrap().keys, [key]);
    let (reason, below) = (RevocationReason::Holder, DescendantKeys::Revoke);
    let revoked = keys.revoke(
        consumer,
        key,
        reason.into(),
        below,
        KeyPrecondition::AnyVersion,
        act(),
    );
    assert_eq!(revoked.await.unwrap().len(), 1);

    let statements: Vec<String> = std::mem::take(&mut *statements.lock().unwrap());
    let about_keys: Vec<&str> = statements
        .iter()
        .map(|statement| statement.split(" -- binds").next().unwrap())
        .filter(|statement| statement.contains("api_keys"))
        .collect();
    assert!(about_keys.len() > 15, "{about_keys:#?}");
    for statement in about_keys {
        let plan = plan(&store, statement).await;
        for step in plan.lines() {
            assert!(
                passes_dead_keys_over(step) || has_a_limit(statement, step),
                "{step}\n{statement}\n{plan}"
            );
        }
    }
}

/// More keys than are looked at one after the other.
async fn add_keys(store: &SqliteStore) {
    for _ in 0..6 {
        copy_keys(store).await;
    }
}

async fn copy_keys(store: &SqliteStore) {
    let copies = store.change_blocking::<_, StorageError, _>(|connection| {
        let copies = "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text,
                created_by_user_id, created_at)
             SELECT randomblob(16), consumer_id, randomblob(32), hint, name, description, search_text,
                created_by_user_id, created_at
             FROM (SELECT * FROM api_keys WHERE created_by_user_id IS NOT NULL LIMIT 1),
                json_each('[0' || replace(hex(zeroblob(999)), '00', ',0') || ']')";
        diesel::sql_query(copies).execute(connection)?;
        Ok(())
    });
    copies.await.unwrap();
}

/// Whether a step looks at no keys, or at those from an index.
fn asks_an_index(step: &str) -> bool {
    let goes_through = step
        .strip_prefix("SCAN ")
        .and_then(|table| table.split(' ').next());
    goes_through.is_none_or(|table| {
        table.starts_with("(subquery-")
            || matches!(
                table,
                "api_key_grams" | "json_each" | "of_day" | "run" | "days" | "newest" | "CONSTANT"
            )
    }) && !step.contains(" AUTOMATIC ")
}

#[tokio::test]
async fn lists_are_filtered_by_indexes_only() {
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    add_keys(&store).await;
    let organization = OrganizationId::from_uuid(Uuid::nil());
    let consumer = MembershipId::from_uuid(Uuid::nil());
    let page = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let all = |term| OrganizationKeyFilter::new(StatusFilter::All, term);
    let long_ago = DateTime::UNIX_EPOCH - TimeDelta::days(1);
    let statements = noted(&store).await;
    for (filter, index) in [
        (
            all(Some("nobody has this")),
            "SCAN api_key_grams VIRTUAL TABLE INDEX",
        ),
        (all(Some("zq")), "SCAN api_key_grams VIRTUAL TABLE INDEX"),
        (
            OrganizationKeyFilter::named("nobody has this"),
            "SCAN api_key_grams VIRTUAL TABLE INDEX",
        ),
        (
            OrganizationKeyFilter::named("zqzq"),
            "SCAN api_key_grams VIRTUAL TABLE INDEX",
        ),
        (
            all(None).unused_since(long_ago),
            "api_keys_organization_idle_idx (organization_id=? AND <expr><?)",
        ),
        (
            all(None).expiring_before(DateTime::UNIX_EPOCH + TimeDelta::days(1)),
            "api_keys_organization_end_idx (organization_id=? AND revoked_at>? AND revoked_at<?)",
        ),
        (
            all(None).held_by(HolderStatusFilter::FormerMembers),
            "memberships_organization_idx (organization_id=?)",
        ),
        (
            all(Some("nobody has this")).of_consumer(consumer),
            "api_keys_consumer_id_id_idx (consumer_id=? AND id>?)",
        ),
    ] {
        let found =
            OrganizationKeyStore::list(&store, organization, filter.clone(), page, DateTime::UNIX_EPOCH)
                .await;
        assert_eq!(found.unwrap().items, [], "{filter:?}");
        let mut plans = String::new();
        let listing: Vec<String> = std::mem::take(&mut *statements.lock().unwrap());
        for statement in listing {
            let statement = statement.split(" -- binds").next().unwrap();
            let plan = plan(&store, statement).await;
            for step in plan.lines() {
                assert!(asks_an_index(step), "{step}\n{statement}\n{plan}");
            }
            // Only the candidates of an index are sorted.
            let sorts = plan.contains("TEMP B-TREE");
            assert!(
                !sorts || statement.contains("ORDER BY +id") || statement.contains("ORDER BY newest_id"),
                "{statement}\n{plan}"
            );
            plans.push_str(&plan);
        }
        statements.lock().unwrap().clear();
        assert!(plans.contains(index), "{filter:?}\n{plans}");
    }
}

#[tokio::test]
async fn keys_of_a_member_are_found_by_index() {
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    let organization = OrganizationId::from_uuid(Uuid::nil());
    let consumer = MembershipId::from_uuid(Uuid::nil());
    let page = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let statements = noted(&store).await;
    let mut asked = Vec::new();
    for status in [StatusFilter::Valid, StatusFilter::Revoked, StatusFilter::All] {
        let filter = OrganizationKeyFilter::new(status, None)
            .of_consumer(consumer)
            .held_by(HolderStatusFilter::Members);
        OrganizationKeyStore::list(&store, organization, filter, page, DateTime::UNIX_EPOCH)
            .await
            .unwrap();
        asked.push(std::mem::take(&mut *statements.lock().unwrap()));
    }
    let preview = MemberStore::leaving_preview(
        &store,
        organization,
        consumer,
        DateTime::UNIX_EPOCH,
        DateTime::UNIX_EPOCH,
    )
    .await;
    assert!(preview.unwrap().keys > 0);
    asked.push(std::mem::take(&mut *statements.lock().unwrap()));
    // However many keys there are.
    let numbers: Vec<usize> = asked.iter().map(Vec::len).collect();
    assert_eq!(numbers, [1, 1, 1, 2]);
    for statement in asked.concat() {
        let statement = statement.split(" -- binds").next().unwrap();
        let plan = plan(&store, statement).await;
        let by_identifier = statement.contains("json_each");
        assert!(
            by_identifier || plan.contains("(consumer_id=?"),
            "{statement}\n{plan}"
        );
        for step in plan.lines() {
            assert!(asks_an_index(step), "{step}\n{statement}\n{plan}");
        }
        assert!(!plan.contains("TEMP B-TREE"), "{statement}\n{plan}");
        // Counts do not read the table.
        let counts = statement.matches("count(*)").count();
        let of_index_alone = plan.matches("USING COVERING INDEX api_keys_used_idx").count();
        assert_eq!(of_index_alone, counts, "{statement}\n{plan}");
    }
}

#[tokio::test]
async fn dead_keys_are_found_in_removal_order() {
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    let ended = store.change_blocking::<_, StorageError, _>(|connection| {
        diesel::sql_query("UPDATE memberships SET ended_at = 0, end_came_at = 0").execute(connection)?;
        Ok(())
    });
    ended.await.unwrap();
    let statements = noted(&store).await;
    let day = DateTime::UNIX_EPOCH + TimeDelta::days(1);
    assert_eq!(
        RetentionStore::remove_dead_keys(&store, day, 500).await.unwrap(),
        2
    );
    let statements: Vec<String> = std::mem::take(&mut *statements.lock().unwrap());
    let mut plans = String::new();
    for statement in &statements {
        let statement = statement.split(" -- binds").next().unwrap();
        if !statement.contains("api_keys") && !statement.contains("memberships") {
            continue;
        }
        let plan = plan(&store, statement).await;
        for step in plan.lines() {
            let goes_through = step
                .strip_prefix("SCAN ")
                .and_then(|table| table.split(' ').next());
            let is_short = goes_through.is_none_or(|table| matches!(table, "dead" | "json_each"));
            let sorts_all = step.contains("TEMP B-TREE") && !step.contains("LAST TERM OF ORDER BY");
            assert!(is_short && !sorts_all, "{step}\n{statement}\n{plan}");
        }
        plans.push_str(&plan);
    }
    for index in [
        "api_keys_revoked_at_idx",
        "memberships_ended_at_idx",
        "api_keys_valid_idx",
    ] {
        assert!(plans.contains(index), "{index}\n{plans}");
    }
}

#[tokio::test]
async fn former_members_without_keys_are_checked_in_bounded_numbers() {
    const FORMER_MEMBERS: usize = 4_000;
    const ALL: u32 = 500;
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    let left = store.change_blocking::<_, StorageError, _>(|connection| {
        let left =
            "INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at, end_came_at)
             SELECT randomblob(16), zeroblob(16), zeroblob(16), 'member', 0, 0, 0
             FROM (WITH RECURSIVE series (number) AS (
                 SELECT 1 UNION ALL SELECT number + 1 FROM series WHERE number < ?
             ) SELECT number FROM series)";
        let left = diesel::sql_query(left).bind::<BigInt, _>(FORMER_MEMBERS as i64);
        left.execute(connection)?;
        Ok(())
    });
    left.await.unwrap();
    let before = steps::copy(&directory);
    let statements = noted(&store).await;
    let day = DateTime::UNIX_EPOCH + TimeDelta::days(1);
    let removed = RetentionStore::remove_dead_keys(&store, day, ALL).await;
    assert_eq!(removed.unwrap(), 0);
    let statements: Vec<String> = std::mem::take(&mut *statements.lock().unwrap());
    let batches = statements.split(|statement| statement.starts_with("COMMIT"));
    let first: Vec<&String> = batches
        .flatten()
        .take_while(|text| !text.starts_with("UPDATE"))
        .collect();
    let asked: Vec<&&String> = first.iter().filter(|text| text.starts_with("SELECT")).collect();
    assert!(asked.len() > ALL as usize, "{}", asked.len());
    // SQLite compiles a statement again whose LIMIT is bound: the revoked keys, and the former members.
    let limited = asked.iter().filter(|text| text.contains(" LIMIT ")).count();
    assert_eq!(limited, 2);
    let steps: i32 = asked
        .into_iter()
        .map(|query| steps::of_query(&before, query))
        .sum();
    // Some for each of those that are noted, and none for the others.
    assert!(steps < 40 * ALL as i32, "{steps} steps");
}
