//! A row that breaks a rule of the domain is an error that names it, never a guess and never a panic.

use std::fmt::Debug;

use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{
    ApiKeys, AuditFilter, AuditLog, Credentials, KeyFilter, Memberships, StatusFilter, StorageError,
};
use keyward_domain::sign_in::ports::AccountStore;

use crate::fixture::Fixture;

#[track_caller]
fn assert_corrupt<T: Debug>(answer: Result<T, StorageError>, expected: (&str, &str, &dyn ToString)) {
    let (expected_table, expected_column, expected_id) = expected;
    match answer {
        Err(StorageError::Corrupt {
            table, column, id, ..
        }) => {
            assert_eq!((table, column), (expected_table, expected_column));
            assert_eq!(id, expected_id.to_string());
        }
        other => panic!("{expected_table}.{expected_column}: {other:?}"),
    }
}

/// Makes a change that no CHECK and no trigger would let through, looks, and takes it back.
async fn with(fixture: &Fixture, change: &str, look: impl AsyncFnOnce()) {
    let (table, _) = change
        .strip_prefix("UPDATE ")
        .and_then(|rest| rest.split_once(' '))
        .expect("an update");
    let append_only = "CREATE TRIGGER audit_events_not_updated BEFORE UPDATE ON audit_events
         BEGIN SELECT RAISE(ABORT, 'audit_events is append-only: UPDATE is refused'); END";
    fixture.directory.execute(&format!(
        "PRAGMA ignore_check_constraints = ON; DROP TRIGGER audit_events_not_updated;
         CREATE TABLE saved AS SELECT * FROM {table}; {change}; {append_only}"
    ));
    look().await;
    let columns = fixture
        .directory
        .texts(&format!("SELECT name AS text FROM pragma_table_info('{table}')"));
    let columns: Vec<String> = columns
        .iter()
        .map(|column| format!("{column} = (SELECT {column} FROM saved WHERE saved.id = {table}.id)"))
        .collect();
    fixture.directory.execute(&format!(
        "DROP TRIGGER audit_events_not_updated; UPDATE {table} SET {}; DROP TABLE saved; {append_only}",
        columns.join(", ")
    ));
}

fn first_page<Id>() -> PageRequest<Id> {
    PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    }
}

#[tokio::test]
async fn a_corrupt_key_is_named() {
    let fixture = Fixture::new().await;
    let (consumer, id) = (fixture.holder().consumer().id, fixture.key.key.id);
    let revoked = "revoked_at = 0, revoked_by_id = NULL";
    for (change, column) in [
        ("hint = 'kwp_'".to_owned(), "hint"),
        ("name = ''".to_owned(), "name"),
        ("description = char(7)".to_owned(), "description"),
        ("created_by_user_id = NULL".to_owned(), "created_by_user_id"),
        ("created_by_key_id = id".to_owned(), "created_by_key_id"),
        ("revoked_at = 0".to_owned(), "revoked_by_kind"),
        ("created_at = 9223372036854775807".to_owned(), "created_at"),
        (
            "revoked_at = -9223372036854775808, revoked_by_kind = 'administrator', revoked_reason = 'leak'"
                .to_owned(),
            "revoked_at",
        ),
        (
            format!("{revoked}, revoked_by_kind = 'administrator'"),
            "revoked_reason",
        ),
        (
            format!("{revoked}, revoked_by_kind = 'administrator', revoked_reason = 'x'"),
            "revoked_reason",
        ),
        (
            format!("{revoked}, revoked_by_kind = 'x', revoked_reason = 'leak'"),
            "revoked_by_kind",
        ),
        (
            format!("{revoked}, revoked_by_kind = 'user', revoked_reason = 'leak'"),
            "revoked_by_id",
        ),
    ] {
        with(&fixture, &format!("UPDATE api_keys SET {change}"), async || {
            let expected = ("api_keys", column, &id as &dyn ToString);
            assert_corrupt(ApiKeys::find(&fixture.store, consumer, id).await, expected);
            let filter = KeyFilter::new(StatusFilter::All, None);
            let page = ApiKeys::list(&fixture.store, consumer, filter, first_page::<ApiKeyId>()).await;
            assert_corrupt(page, expected);
        })
        .await;
    }
    let found = ApiKeys::find(&fixture.store, consumer, id)
        .await
        .expect("a whole row");
    assert_eq!(found, Some(fixture.key.key.clone()));
}

#[tokio::test]
async fn corrupt_people_and_organizations_are_named() {
    let fixture = Fixture::new().await;
    let (store, owner) = (&fixture.store, &fixture.owner);
    let (user, organization) = (owner.user.id, owner.organization.id);

    with(&fixture, "UPDATE users SET username = 'Ada!'", async || {
        let expected = ("users", "username", &user as &dyn ToString);
        assert_corrupt(Credentials::find(store, &fixture.key.digest).await, expected);
        assert_corrupt(store.find_live(user, &owner.organization.slug).await, expected);
    })
    .await;
    with(&fixture, "UPDATE users SET display_name = ''", async || {
        let expected = ("users", "display_name", &user as &dyn ToString);
        assert_corrupt(AccountStore::find(store, &owner.user.username).await, expected);
    })
    .await;
    with(&fixture, "UPDATE organizations SET slug = '-'", async || {
        let expected = ("organizations", "slug", &organization as &dyn ToString);
        assert_corrupt(Credentials::find(store, &fixture.key.digest).await, expected);
        assert_corrupt(store.organizations().await, expected);
        assert_corrupt(store.organizations_of(user).await, expected);
    })
    .await;
    with(
        &fixture,
        "UPDATE organizations SET name = 'a' || char(10) || 'b'",
        async || {
            let expected = ("organizations", "name", &organization as &dyn ToString);
            assert_corrupt(Credentials::find(store, &fixture.key.digest).await, expected);
        },
    )
    .await;
    with(&fixture, "UPDATE memberships SET role = 'king'", async || {
        let expected = ("memberships", "role", &owner.membership.id as &dyn ToString);
        assert_corrupt(store.find_live(user, &owner.organization.slug).await, expected);
    })
    .await;
}

#[tokio::test]
async fn a_corrupt_audit_event_is_named() {
    let fixture = Fixture::new().await;
    let organization = Some(fixture.owner.organization.id);
    let events = AuditLog::list(&fixture.store, organization, AuditFilter::default(), first_page())
        .await
        .expect("the log");
    let newest = events.items.first().expect("the first key's event").id;
    for (change, column) in [
        ("action = 'key.melt'", "action"),
        ("actor_kind = 'ghost'", "actor_kind"),
        ("actor_id = NULL", "actor_id"),
        ("subject_kind = 'ghost'", "subject_kind"),
        ("subject_id = NULL", "subject_id"),
        ("outcome = 'maybe'", "outcome"),
        ("source_address = 'nowhere'", "source_address"),
    ] {
        with(
            &fixture,
            &format!("UPDATE audit_events SET {change}"),
            async || {
                let page =
                    AuditLog::list(&fixture.store, organization, AuditFilter::default(), first_page()).await;
                assert_corrupt(page, ("audit_events", column, &newest));
            },
        )
        .await;
    }
}
