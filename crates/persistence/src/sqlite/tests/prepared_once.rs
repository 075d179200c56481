//! Statements that are asked at nearly every request are compiled once.
//!
//! SQLite compiles a statement again when the value bound to its `LIMIT` may have changed, and diesel's
//! `first` binds one.

use std::path::Path;

use chrono::DateTime;
use tempfile::TempDir;

use keyward_domain::administration::ports::OrganizationKeyStore;
use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::audit::Actor;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, SessionId, UserId};
use keyward_domain::organization::Slug;
use keyward_domain::ports::{ApiKeys, Credentials, DescendantKeys, Memberships};
use keyward_domain::sign_in::ports::{AccountStore, SessionStore};
use keyward_domain::sign_in::session::SessionToken;
use keyward_domain::testing::Builder;
use keyward_domain::token::TokenDigest;
use keyward_domain::user::Username;
use rusqlite::StatementStatus;
use uuid::Uuid;

use super::noted_statements::noted;
use super::scene::scene;
use crate::sqlite::SqliteConfig;
use crate::sqlite::SqliteStore;

/// How often SQLite compiles a statement again while it is run three times, each time with its values bound
/// anew.
fn compiled_again(file: &Path, statement: &str) -> i32 {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let mut statement = connection.prepare(statement).unwrap();
    for _ in 0..3 {
        for place in 1..=statement.parameter_count() {
            statement.raw_bind_parameter(place, 1_i64).unwrap();
        }
        // The value may be of another type than the column. Whether it is refused or not makes no difference
        // here.
        let _ = statement.raw_query().next();
    }
    statement.get_status(StatementStatus::RePrepare)
}

async fn ask_what_requests_ask(store: &SqliteStore) {
    let make = Builder::new(1);
    let (key, consumer) = (
        ApiKeyId::from_uuid(Uuid::nil()),
        MembershipId::from_uuid(Uuid::nil()),
    );
    let (user, organization) = (
        UserId::from_uuid(Uuid::nil()),
        OrganizationId::from_uuid(Uuid::nil()),
    );
    let digest = TokenDigest::from_bytes([0; 32]);
    assert!(Credentials::find(store, &digest).await.unwrap().is_some());
    assert!(ApiKeys::find(store, consumer, key).await.unwrap().is_some());
    let session = SessionToken::parse(&"0".repeat(64)).unwrap().digest();
    SessionStore::find(store, &session).await.unwrap();
    let acme = Slug::parse("acme").unwrap();
    assert!(
        store
            .find_live(user, &acme, DateTime::UNIX_EPOCH)
            .await
            .unwrap()
            .is_some()
    );
    let ada = Username::parse("ada").unwrap();
    AccountStore::find(store, &ada).await.unwrap();
    OrganizationKeyStore::find(store, organization, key)
        .await
        .unwrap();
    let act = make.act(Actor::Administrator);
    SessionStore::seen(store, SessionId::from_uuid(Uuid::nil()), act.at)
        .await
        .unwrap();
    let (reason, any) = (RevocationReason::Holder, KeyPrecondition::AnyVersion);
    let revoked = ApiKeys::revoke(
        store,
        consumer,
        key,
        reason.into(),
        DescendantKeys::Keep,
        any,
        act,
    );
    assert_eq!(revoked.await.unwrap().len(), 1);
}

#[tokio::test]
async fn request_statements_are_compiled_once() {
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    let statements = noted(&store).await;
    ask_what_requests_ask(&store).await;

    let file = SqliteConfig::in_directory(directory.path()).file();
    let statements: Vec<String> = std::mem::take(&mut *statements.lock().unwrap());
    let prepared: Vec<&str> = statements
        .iter()
        .map(|statement| statement.split(" -- binds").next().unwrap())
        .filter(|statement| !["BEGIN IMMEDIATE", "COMMIT"].contains(statement))
        .collect();
    assert!(prepared.len() > 9, "{prepared:#?}");
    for statement in prepared {
        assert_eq!(compiled_again(&file, statement), 0, "{statement}");
    }
    // The counter works: a `LIMIT ?` is compiled again.
    assert_eq!(compiled_again(&file, "SELECT 1 FROM users LIMIT ?"), 3);
}
