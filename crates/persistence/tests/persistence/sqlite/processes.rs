//! Several processes on one file, such as the command line beside a server.

use keyward_domain::ports::{AddKeyError, ApiKeys, Credentials, KeyLimit, KeyLimits};
use keyward_domain::testing::Builder;
use keyward_persistence::sqlite::SqliteStore;

use crate::database::{migrations, now};
use crate::sqlite::child::{all_at_once, part, say, wait_for_the_others};
use crate::sqlite::durability::owner_in;
use crate::sqlite::fixture::{AMPLE, DataDirectory, Fixture, long_timeouts, migrated_store, set_up};

#[tokio::test(flavor = "multi_thread")]
async fn five_processes_starting_concurrently_create_one_database() {
    const TEST: &str = "sqlite::processes::five_processes_starting_concurrently_create_one_database";
    if let Some(part) = part() {
        wait_for_the_others();
        let store = migrated_store(long_timeouts(&part.directory)).await;
        assert!(store.is_ready().await.expect("an answer"));
        return;
    }
    let directory = DataDirectory::new();
    all_at_once(TEST, &directory.path(), 5);
    let applied = i64::try_from(migrations("sqlite").len()).expect("a number");
    assert_eq!(directory.count("__diesel_schema_migrations"), applied);
    assert_eq!(directory.count("installation"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_processes_share_the_key_limit() {
    const TEST: &str = "sqlite::processes::concurrent_processes_share_the_key_limit";
    const LIMITS: KeyLimits = KeyLimits {
        valid: KeyLimit(90),
        ..AMPLE
    };
    if let Some(part) = part() {
        let store = migrated_store(long_timeouts(&part.directory)).await;
        let holder = owner_in(&store).await.as_holder();
        let make = Builder::new(100 + part.number);
        wait_for_the_others();
        loop {
            let (new, _) = make.new_key(&holder, "one of many");
            let act = make.act_of(&holder);
            match ApiKeys::add(&store, new, LIMITS, act).await {
                Ok(_) => say("added"),
                Err(AddKeyError::LimitReached(_)) => return,
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    let directory = DataDirectory::new();
    let store = migrated_store(directory.long_timeouts()).await;
    set_up(&store, &Builder::new(1)).await;
    let said = all_at_once(TEST, &directory.path(), 3);
    let added: usize = said.iter().map(Vec::len).sum();
    assert_eq!(added, 90);
    assert_eq!(directory.count("api_keys WHERE revoked_at IS NULL"), 90);
    assert_eq!(
        directory.count("audit_events WHERE action = 'api_key.create'"),
        90
    );
}

#[tokio::test]
async fn change_in_one_store_is_immediately_visible_in_another() {
    let fixture = Fixture::new().await;
    let other = SqliteStore::open(fixture.directory.long_timeouts()).expect("a second store");
    let new = fixture.new_key("second");
    let digest = new.digest;
    assert_eq!(Credentials::find(&other, &digest).await.expect("an answer"), None);
    fixture.add(new).await.expect("added");
    let found = Credentials::find(&other, &digest).await.expect("an answer");
    assert!(found.is_some_and(|credential| credential.is_accepted(now())));
}
