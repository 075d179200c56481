//! Properties of the file beyond those that the ports ask for.

use keyward_domain::membership::Role;
use keyward_domain::ports::{Memberships, StorageError};
use keyward_domain::testing::Builder;
use own_store::FileStore;

#[tokio::test]
async fn confirmed_changes_persist_after_reopening_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("planner.redb");
    let make = Builder::new(1);
    let ferry = make.organization("Night Ferry");
    let grace = make.user("grace");
    let membership = make.membership(&ferry, &grace, Role::Member);
    {
        let store = FileStore::open(&file).unwrap();
        store.add_organization(ferry.clone()).await.unwrap();
        store.add_person(grace.clone()).await.unwrap();
        store.add_membership(membership.clone()).await.unwrap();
    }

    let store = FileStore::open(&file).unwrap();
    let member = store
        .find_live(grace.id, &ferry.slug, make.sources.now())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(member.membership, membership);
}

#[tokio::test]
async fn file_serves_one_store_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("planner.redb");
    let _first = FileStore::open(&file).unwrap();

    assert!(matches!(
        FileStore::open(&file),
        Err(StorageError::Unavailable(_))
    ));
}

#[tokio::test]
async fn file_that_is_no_database_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "buy milk").unwrap();

    assert!(FileStore::open(&file).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "buy milk");
}
