//! When storage fails: 503 or 500, never 200 and never 401.

use std::io;
use std::sync::{Arc, Mutex};

use keyward_domain::keys::PersonalKeys;
use keyward_domain::ports::{
    AddKeyError, ApiKeys, EditKeyError, KeyLimits, MockApiKeys, MockReachableProjects, ReachableProjects,
    RevokeKeyError, RotateKeyError, StorageError,
};
use keyward_domain::testing::TestInstallation;
use keyward_http_api::HttpApi;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::answer::Answer;
use crate::api::{API_KEYS, Api};
use crate::documented::{Audience, Operation, operations};
use crate::scene::{Scene, http_api};

const SECRET: &str = "host=10.0.0.5 password=hunter2";

/// An API whose callers are known but whose keys fail, and the token of one of them.
async fn api_over(keys: MockApiKeys) -> (Api, String) {
    api_over_all(keys, MockReachableProjects::new()).await
}

/// The same, with projects that fail, too.
async fn api_over_all(keys: MockApiKeys, projects: MockReachableProjects) -> (Api, String) {
    let installation = TestInstallation::new();
    let organization = installation.organization("Analytical Engines");
    let role = keyward_domain::membership::Role::Member;
    let member = installation.member(&organization, "ada", role);
    let issued = installation.issue(&member.as_holder(), "first").await;
    let builder = &installation.builder;
    let keys = PersonalKeys::new(
        Arc::new(keys) as Arc<dyn ApiKeys>,
        builder.sources.clone(),
        KeyLimits::default(),
    );
    let projects = Arc::new(projects) as Arc<dyn ReachableProjects>;
    let api = Api::start(HttpApi {
        keys,
        projects,
        ..http_api(&installation)
    })
    .await;
    (api, issued.token.expose().to_owned())
}

/// Keys of which everything fails.
fn failing(error: fn() -> StorageError) -> MockApiKeys {
    let mut keys = MockApiKeys::new();
    keys.expect_add()
        .returning(move |_, _, _| Err(AddKeyError::Storage(error())));
    keys.expect_list().returning(move |_, _, _, _| Err(error()));
    keys.expect_find().returning(move |_, _| Err(error()));
    keys.expect_edit()
        .returning(move |_, _, _, _, _, _| Err(EditKeyError::Storage(error())));
    keys.expect_rotate()
        .returning(move |_, _, _| Err(RotateKeyError::Storage(error())));
    keys.expect_revoke()
        .returning(move |_, _, _, _, _, _| Err(RevokeKeyError::Storage(error())));
    keys
}

/// Projects of which everything fails.
fn failing_projects(error: fn() -> StorageError) -> MockReachableProjects {
    let mut projects = MockReachableProjects::new();
    projects.expect_list().returning(move |_, _, _| Err(error()));
    projects.expect_find().returning(move |_, _, _| Err(error()));
    projects
}

/// Operations that ask neither the keys nor the projects of [`api_over_all`].
const ASK_OTHERS: [&str; 3] = ["getUser", "authenticateRequest", "reportLeakedKeys"];

/// The answers of every operation on keys and projects to a valid request.
async fn answers_when_failing(error: fn() -> StorageError) -> Vec<(reqwest::Method, Answer)> {
    let (api, token) = api_over_all(failing(error), failing_projects(error)).await;
    let mut answers = Vec::new();
    for operation in operations()
        .into_iter()
        .filter(|operation| !ASK_OTHERS.contains(&operation.id()))
    {
        let mut request = api.operation(&operation, &operation.path(), &token);
        if let Some(body) = operation.example_body() {
            request = request.json(body);
        }
        answers.push((operation.method, api.send(request).await));
    }
    assert_eq!(answers.len() + ASK_OTHERS.len(), operations().len());
    answers
}

#[tokio::test]
async fn every_operation_reports_unavailable_storage() {
    for (_, answer) in answers_when_failing(|| StorageError::Unavailable(SECRET.into())).await {
        let problem = answer.refusal(503, "unavailable");
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert!(!problem.to_string().contains("hunter2"));
    }
}

#[tokio::test]
async fn every_change_reports_an_unknown_outcome() {
    let keys = failing(|| StorageError::OutcomeUnknown(SECRET.into()));
    let (api, token) = api_over(keys).await;
    let path = format!("{API_KEYS}/current");
    let answers = [
        api.post(API_KEYS, &token, &json!({"name": "x"})).await,
        api.patch(&path, &token, &json!({"name": "x"})).await,
        api.delete(&path, &token).await,
    ];
    for answer in answers {
        answer.refusal(503, "outcome_unknown");
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert!(!answer.body.contains("hunter2"));
    }
}

#[tokio::test]
async fn defects_are_500_without_details() {
    let corrupt: fn() -> StorageError = || StorageError::Corrupt {
        table: "api_keys",
        column: "hint",
        id: "7".to_owned(),
        problem: "not a hint".to_owned(),
    };
    for error in [corrupt, || StorageError::Defect(SECRET.into())] {
        for (method, answer) in answers_when_failing(error).await {
            answer.refusal(500, "internal");
            assert_eq!(answer.header("retry-after"), None);
            let tells = |word: &str| answer.body.contains(word);
            assert!(
                !tells("hunter2") && !tells("api_keys") && !tells("hint"),
                "{method}"
            );
        }
    }
}

/// Storage that cannot be asked about a token neither accepts nor refuses it.
#[tokio::test]
async fn authentication_during_storage_outage_is_neither_accepted_nor_rejected() {
    let scene = Scene::new().await;
    scene.installation.store.go_down();
    let has_credentials = |operation: &Operation| operation.audience() != Audience::Public;
    for operation in operations().into_iter().filter(has_credentials) {
        let request = scene
            .api
            .operation(&operation, &operation.path(), &scene.ada.token);
        scene.api.send(request).await.refusal(503, "unavailable");
    }
    scene.installation.store.come_back();
    scene.api.get(API_KEYS, &scene.ada.token).await.ok(200);
}

/// Between authentication and the change, the key was revoked or its user left.
#[tokio::test]
async fn missing_holder_is_rejected() {
    let mut keys = MockApiKeys::new();
    keys.expect_add()
        .returning(|_, _, _| Err(AddKeyError::HolderGone));
    keys.expect_edit()
        .returning(|_, _, _, _, _, _| Err(EditKeyError::HolderGone));
    keys.expect_revoke()
        .returning(|_, _, _, _, _, _| Err(RevokeKeyError::HolderGone));
    let (api, token) = api_over(keys).await;
    let current = format!("{API_KEYS}/current");
    for answer in [
        api.post(API_KEYS, &token, &json!({"name": "x"})).await,
        api.patch(&current, &token, &json!({"name": "x"})).await,
        api.delete(&current, &token).await,
    ] {
        answer.refusal(401, "invalid_token");
        assert_eq!(
            answer.header("www-authenticate"),
            Some("Bearer error=\"invalid_token\"")
        );
    }
}

/// The log has the cause under the request's id, and no token.
#[tokio::test]
async fn log_contains_the_details_withheld_from_responses() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    // For all threads: beside tests without a subscriber, one of this thread alone would miss events now and
    // then.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let (api, token) = api_over(failing(|| {
        StorageError::Defect("relation api_keys is gone".into())
    }))
    .await;
    let answer = api.get(API_KEYS, &token).await;
    answer.refusal(500, "internal");

    let log = log.text();
    let entry = log
        .lines()
        .find(|line| line.contains("relation api_keys is gone"))
        .unwrap();
    assert!(
        entry.contains("ERROR") && entry.contains(answer.header("x-request-id").unwrap()),
        "{entry}"
    );
    assert!(!log.contains(&token[4..36]), "{log}");
}

/// The server logs an outage once, not the API for each request.
#[tokio::test]
async fn requests_failed_by_an_outage_are_not_logged_individually() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    for error in [
        (|| StorageError::Unavailable(SECRET.into())) as fn() -> StorageError,
        || StorageError::OutcomeUnknown(SECRET.into()),
    ] {
        let (api, token) = api_over(failing(error)).await;
        let answer = api.post(API_KEYS, &token, &json!({"name": "x"})).await;
        assert_eq!(answer.status, 503);
        assert_eq!(log.text(), "");
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
