//! Which token is accepted.

use std::sync::Arc;

use keyward_domain::access::{Authenticate, AuthenticateError};
use keyward_domain::api_key::{KeyPrecondition, LastUse};
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::holder::Holder;
use keyward_domain::membership::Role;
use keyward_domain::ports::{DescendantKeys, KeyUse, MockCredentials, StorageError};
use keyward_domain::recent_uses::RecentUses;
use keyward_domain::testing::{FixedClock, SeededRandom, TestInstallation};
use keyward_domain::token::Token;

#[tokio::test]
async fn malformed_token_is_rejected_without_storage_access() {
    let mut credentials = MockCredentials::new();
    credentials.expect_remembered().never();
    credentials.expect_find().never();
    let authenticate = Authenticate::new(Arc::new(credentials), Arc::new(FixedClock::default()));
    let valid = Token::generate(&SeededRandom::new(1));
    let mut wrong_checksum = valid.expose().to_owned();
    let last = if wrong_checksum.ends_with('0') { "1" } else { "0" };
    wrong_checksum.replace_range(41.., last);
    for text in [
        "",
        "kwp_",
        valid.hint().as_str(),
        &format!("{} ", valid.expose()),
        &valid.expose()[4..],
        &wrong_checksum,
    ] {
        assert_refused(&authenticate, text).await;
    }
}

#[tokio::test]
async fn unknown_token_is_rejected_after_one_lookup() {
    let mut credentials = MockCredentials::new();
    credentials.expect_remembered().once().returning(|_| None);
    credentials.expect_is_familiar().once().returning(|_| false);
    credentials.expect_find().once().returning(|_| Ok(None));
    let token = Token::generate(&SeededRandom::new(1));

    let authenticate = Authenticate::new(Arc::new(credentials), Arc::new(FixedClock::default()));
    assert_refused(&authenticate, token.expose()).await;
}

#[tokio::test]
async fn valid_key_identifies_its_consumer() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member);
    let issued = installation.issue(&ada.as_holder(), "ci").await;
    let caller = installation.caller(&issued).await;

    assert_eq!(caller.api_key().id, issued.key.id);
    assert_eq!(caller.api_key().created_at, issued.key.created_at);
    assert_eq!(caller.consumer().id, ada.membership.id);
    assert_eq!(caller.consumer().user_id, ada.user.id);
    assert_eq!(caller.consumer().username, ada.user.username);
    assert_eq!(caller.organization().id, acme.id);
    assert_eq!(caller.organization().slug, acme.slug);
    assert_eq!(caller.organization().name, acme.name);
}

#[tokio::test]
async fn revoked_key_is_rejected_immediately() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member).as_holder();
    let issued = installation.issue(&ada, "ci").await;
    let other = installation.issue(&ada, "other").await;
    revoke(&installation, &ada, &issued).await;

    assert_refused(&installation.authenticate(), issued.token.expose()).await;
    installation.caller(&other).await;
}

#[tokio::test]
async fn keys_of_a_former_user_stay_rejected() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member);
    let issued = installation.issue(&ada.as_holder(), "ci").await;
    let now = installation.builder.clock.now();
    installation.store.end_membership(ada.membership.id, now);
    assert_refused(&installation.authenticate(), issued.token.expose()).await;

    let again = installation.builder.membership(&acme, &ada.user, Role::Member);
    installation.store.put_membership(again);
    assert_refused(&installation.authenticate(), issued.token.expose()).await;
}

#[tokio::test]
async fn store_failure_neither_accepts_nor_rejects_a_key() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member).as_holder();
    let issued = installation.issue(&ada, "ci").await;
    installation.store.go_down();
    let answer = installation
        .authenticate()
        .caller(issued.token.expose(), None)
        .await;

    assert!(
        matches!(
            answer,
            Err(AuthenticateError::Storage(StorageError::Unavailable(_)))
        ),
        "{answer:?}"
    );
    installation.store.come_back();
    installation.caller(&issued).await;
}

async fn assert_refused(authenticate: &Authenticate, token: &str) {
    let answer = authenticate.caller(token, None).await;
    assert!(
        matches!(answer, Err(AuthenticateError::InvalidToken)),
        "{answer:?}"
    );
}

async fn revoke(installation: &TestInstallation, holder: &Holder, issued: &keyward_domain::keys::IssuedKey) {
    installation
        .keys()
        .revoke(
            holder,
            issued.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await
        .expect("revoked");
}

#[tokio::test]
async fn only_accepted_requests_are_recorded_as_uses() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member).as_holder();
    let issued = installation.issue(&ada, "ci").await;
    let uses = Arc::new(RecentUses::new(10));
    let authenticate = installation.authenticate().with_recent_uses(Arc::clone(&uses));
    let from = Some([203, 0, 113, 7].into());
    let accepted = authenticate.caller(issued.token.expose(), from).await;
    accepted.expect("an accepted token");
    let at = installation.builder.clock.now();
    let noted = KeyUse {
        key: issued.key.id,
        last: LastUse { at, from },
    };
    assert_eq!(uses.take_last(at), [noted]);

    revoke(&installation, &ada, &issued).await;
    assert_refused(&authenticate, issued.token.expose()).await;
    assert_refused(&authenticate, "nonsense").await;
    assert_eq!(uses.take_last(at), []);
}
