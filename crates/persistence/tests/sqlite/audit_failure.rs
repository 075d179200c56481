//! A change whose audit event the database refuses does not happen.

use keyward_domain::api_key::{KeyEdit, KeyName, RevocationReason};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::membership::Role;
use keyward_domain::ports::{
    AddKeyError, ApiKeys, AuditLog, DescendantKeys, EditKeyError, RevokeKeyError, StorageError,
};
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::sign_in::ports::{
    AccountStore, AddAccountError, InstallationStore, NewAccount, NewSession, ReplacePasswordError,
    ReplaceSetupLinkError, SessionStore, StartSessionError,
};
use keyward_domain::sign_in::session::{Session, SessionToken};
use keyward_domain::sign_in::setup::SetupToken;
use keyward_domain::testing::Builder;

use crate::fixture::{DataDirectory, FIRST_HASH, Fixture, migrated_store};

const BREAK_THE_LOG: &str = "CREATE TRIGGER refuse BEFORE INSERT ON audit_events
     BEGIN SELECT RAISE(ABORT, 'disk on fire'); END";

/// Everything but the log, as text.
fn content(directory: &DataDirectory) -> Vec<String> {
    let tables = [
        ("organizations", "quote(id) || slug || name"),
        ("users", "quote(id) || username || display_name || password_hash"),
        ("memberships", "quote(id) || role || quote(ended_at)"),
        (
            "api_keys",
            "quote(id) || name || description || search_text || quote(revoked_at)",
        ),
        ("sessions", "quote(id) || quote(digest) || quote(last_seen_at)"),
        ("installation", "quote(set_up_at) || quote(setup_link_digest)"),
    ];
    let rows =
        |(table, columns)| directory.texts(&format!("SELECT {columns} AS text FROM {table} ORDER BY 1"));
    tables.into_iter().flat_map(rows).collect()
}

fn is_defect(error: &StorageError) -> bool {
    matches!(error, StorageError::Defect(_))
}

#[tokio::test]
async fn no_change_to_keys_happens_without_its_event() {
    let fixture = Fixture::new().await;
    let before = content(&fixture.directory);
    fixture.directory.execute(BREAK_THE_LOG);
    let (consumer, key) = (fixture.holder().consumer().id, fixture.key.key.id);

    let error = fixture.add(fixture.new_key("second")).await;
    assert!(matches!(error, Err(AddKeyError::Storage(error)) if is_defect(&error)));
    let edit = KeyEdit {
        name: Some(KeyName::parse("renamed").expect("a name")),
        description: None,
    };
    let event = fixture.act().event(Action::EditApiKey, Subject::ApiKey(key));
    let error = ApiKeys::edit(&fixture.store, consumer, key, edit, event).await;
    assert!(matches!(error, Err(EditKeyError::Storage(error)) if is_defect(&error)));
    let error = fixture
        .store
        .revoke(
            consumer,
            key,
            RevocationReason::Holder,
            DescendantKeys::Revoke,
            fixture.act(),
        )
        .await;
    assert!(matches!(error, Err(RevokeKeyError::Storage(error)) if is_defect(&error)));

    assert_eq!(content(&fixture.directory), before);
}

#[tokio::test]
async fn no_change_to_people_and_sessions_happens_without_its_event() {
    let fixture = Fixture::new().await;
    let (make, user) = (&fixture.make, fixture.owner.user.id);
    let start = |token: &SessionToken, replaces| NewSession {
        session: Session {
            id: make.ids.next(),
            user_id: user,
            started_at: fixture.act().at,
            last_seen_at: fixture.act().at,
            started_from: None,
            user_agent: None,
        },
        digest: token.digest(),
        verified_against: PasswordHash::from_phc_string(FIRST_HASH.to_owned()),
        replaces,
    };
    let event = |action| make.act(Actor::Administrator).event(action, Subject::User(user));
    let token = SessionToken::generate(&*make.random);
    let session = start(&token, None);
    let session_id = session.session.id;
    SessionStore::start(&fixture.store, session, event(Action::SignIn))
        .await
        .expect("a session starts");
    let before = content(&fixture.directory);
    fixture.directory.execute(BREAK_THE_LOG);

    let second = start(&SessionToken::generate(&*make.random), Some(token.digest()));
    let error = fixture.store.start(second, event(Action::SignIn)).await;
    assert!(matches!(error, Err(StartSessionError::Storage(error)) if is_defect(&error)));
    let error = fixture.store.end(session_id, event(Action::SignOut)).await;
    assert!(matches!(error, Err(error) if is_defect(&error)));
    let hash = PasswordHash::from_phc_string("$another".to_owned());
    let error = fixture
        .store
        .replace_password(user, hash.clone(), event(Action::ResetPassword))
        .await;
    assert!(matches!(error, Err(ReplacePasswordError::Storage(error)) if is_defect(&error)));
    let bob = make.user("bob");
    let new = NewAccount {
        membership: make.membership(&fixture.owner.organization, &bob, Role::Member),
        account: Account {
            user: bob,
            password_hash: hash,
        },
    };
    let error = AccountStore::add(&fixture.store, new, vec![event(Action::CreateUser)]).await;
    assert!(matches!(error, Err(AddAccountError::Storage(error)) if is_defect(&error)));
    let error = fixture.store.record(event(Action::SignIn)).await;
    assert!(matches!(error, Err(error) if is_defect(&error)));

    assert_eq!(content(&fixture.directory), before);
}

#[tokio::test]
async fn no_setup_link_is_replaced_without_its_event() {
    let directory = DataDirectory::new();
    let (store, make) = (migrated_store(directory.patient()).await, Builder::new(1));
    let before = content(&directory);
    directory.execute(BREAK_THE_LOG);

    let act = make.act(Actor::Administrator);
    let event = act.event(Action::CreateSetupLink, Subject::Installation);
    let error = store
        .replace_setup_link(SetupToken::generate(&*make.random).digest(), act.at, event)
        .await;
    assert!(matches!(error, Err(ReplaceSetupLinkError::Storage(error)) if is_defect(&error)));
    assert_eq!(content(&directory), before);
}

#[tokio::test]
async fn the_log_works_again_once_it_is_mended() {
    let fixture = Fixture::new().await;
    fixture.directory.execute(BREAK_THE_LOG);
    let refused = fixture.add(fixture.new_key("second")).await;
    refused.expect_err("a broken log");
    fixture.directory.execute("DROP TRIGGER refuse");
    let added = fixture.add(fixture.new_key("third")).await;
    added.expect("a mended log");
}
