//! A row that breaks a rule of the domain is an error that names it, never a guess and never a panic.

use std::fmt::Debug;

use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{
    ApiKeys, AuditFilter, AuditLog, Credentials, KeyFilter, Memberships, StatusFilter, StorageError,
};
use keyward_domain::sign_in::ports::AccountStore;

use crate::fixture::Fixture;

/// A row that was stored before the rules were what they are.
const WITHOUT_CHECKS: &str = "
    ALTER TABLE api_keys DROP CONSTRAINT api_keys_origin_check, DROP CONSTRAINT api_keys_revocation_check,
        DROP CONSTRAINT api_keys_revoked_by_id_check, DROP CONSTRAINT api_keys_revoked_by_kind_check,
        DROP CONSTRAINT api_keys_revoked_reason_check;
    ALTER TABLE memberships DROP CONSTRAINT memberships_role_check;
    ALTER TABLE audit_events DISABLE TRIGGER audit_events_append_only,
        DROP CONSTRAINT audit_events_actor_kind_check, DROP CONSTRAINT audit_events_subject_kind_check,
        DROP CONSTRAINT audit_events_outcome_check, DROP CONSTRAINT audit_events_actor_id_check,
        DROP CONSTRAINT audit_events_subject_id_check;";

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

/// Makes a change, looks, and takes it back.
async fn with(fixture: &Fixture, change: &str, look: impl AsyncFnOnce()) {
    let (table, _) = change
        .strip_prefix("UPDATE ")
        .and_then(|rest| rest.split_once(' '))
        .expect("an update");
    fixture
        .execute(&format!("CREATE TABLE saved AS SELECT * FROM {table}; {change}"))
        .await;
    look().await;
    let columns: String = fixture
        .client
        .query_one(
            "SELECT string_agg(format('%I = saved.%I', column_name, column_name), ', ')
             FROM information_schema.columns WHERE table_name = $1",
            &[&table],
        )
        .await
        .expect("the columns")
        .get(0);
    fixture
        .execute(&format!(
            "UPDATE {table} SET {columns} FROM saved WHERE saved.id = {table}.id; DROP TABLE saved"
        ))
        .await;
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
    fixture.execute(WITHOUT_CHECKS).await;
    let (consumer, id) = (fixture.holder().consumer().id, fixture.key.key.id);
    let revoked = "revoked_at = now(), revoked_by_id = NULL";
    for (change, column) in [
        ("hint = 'kwp_'".to_owned(), "hint"),
        ("name = ''".to_owned(), "name"),
        ("description = E'\\x07'".to_owned(), "description"),
        ("created_by_user_id = NULL".to_owned(), "created_by_user_id"),
        ("created_by_key_id = id".to_owned(), "created_by_key_id"),
        ("revoked_at = now()".to_owned(), "revoked_by_kind"),
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
    fixture.execute(WITHOUT_CHECKS).await;
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
    with(&fixture, "UPDATE organizations SET name = E'a\\nb'", async || {
        let expected = ("organizations", "name", &organization as &dyn ToString);
        assert_corrupt(Credentials::find(store, &fixture.key.digest).await, expected);
    })
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
    fixture.execute(WITHOUT_CHECKS).await;
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
