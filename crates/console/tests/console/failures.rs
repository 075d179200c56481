use std::sync::Arc;

use keyward_domain::clock::Clock;
use keyward_domain::keys::PersonalKeys;
use keyward_domain::ports::{AddKeyError, MockApiKeys, StorageError};
use keyward_domain::random::Random;
use keyward_domain::testing::TestInstallation;

use crate::running::{LIST, NEW, Running};

#[tokio::test]
async fn while_storage_is_down_every_page_says_so_with_the_request_id() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    running.installation.store.go_down();
    let fields = [("username", "ada"), ("password", TestInstallation::PASSWORD)];
    let visitor = running.visitor();
    for answer in [
        browser.get("/").await,
        browser.get(LIST).await,
        browser.post(NEW, &[]).await,
        browser.post("/sign-out", &[]).await,
        visitor.get("/").await,
        visitor.get("/setup").await,
        visitor.post("/sign-in", &fields).await,
    ] {
        assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
        assert!(answer.shows(answer.header("x-request-id")));
        assert!(answer.shows("Keyward cannot answer at the moment") && answer.shows("href=\"/\""));
        assert!(!answer.shows("taken down by a test"), "the cause is for the logs");
    }
    running.installation.store.come_back();
    assert_eq!(
        browser.get(LIST).await.status,
        200,
        "the session outlives the failure"
    );
}

/// A console whose store of keys fails to add one.
async fn with_failing_add(error: fn() -> StorageError) -> Running {
    let installation = TestInstallation::new();
    let mut keys = MockApiKeys::new();
    keys.expect_add()
        .returning(move |_, _, _| Err(AddKeyError::Storage(error())));
    let builder = installation.builder.clone();
    let keys = PersonalKeys::new(
        Arc::new(keys),
        builder.clock as Arc<dyn Clock>,
        builder.random as Arc<dyn Random>,
        builder.ids,
        installation.limit,
    );
    let running = Running::with(installation, None, |console| console.keys = keys).await;
    let acme = running.installation.organization("Acme");
    let role = keyward_domain::membership::Role::Member;
    let _ada = running.installation.member(&acme, "ada", role);
    running
}

#[tokio::test]
async fn an_unknown_outcome_is_not_called_a_failure() {
    let running = with_failing_add(|| StorageError::OutcomeUnknown("cut off".into())).await;
    let browser = running.signed_in("ada").await;
    let nonce = browser.get(NEW).await.field("nonce").to_owned();
    let fields = [("nonce", nonce.as_str()), ("name", "Deploy"), ("description", "")];
    let answer = browser.post(NEW, &fields).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
    assert!(answer.shows("It is not certain whether this was done"));
    assert!(answer.tokens().is_empty());
}

#[tokio::test]
async fn a_defect_is_a_page_that_keeps_its_cause_to_the_logs() {
    let running = with_failing_add(|| StorageError::Defect("relation api_keys does not exist".into())).await;
    let browser = running.signed_in("ada").await;
    let nonce = browser.get(NEW).await.field("nonce").to_owned();
    let fields = [("nonce", nonce.as_str()), ("name", "Deploy"), ("description", "")];
    let answer = browser.post(NEW, &fields).await;
    assert_eq!(answer.status, 500);
    assert!(answer.shows(answer.header("x-request-id")) && !answer.shows("relation"));
}
