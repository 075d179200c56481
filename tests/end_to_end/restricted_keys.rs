//! Keys that may not manage keys, and the default for new ones.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use keyward_tests::api::{Api, expect, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;
use keyward_tests::storage::Storage;

#[tokio::test(flavor = "multi_thread")]
async fn restricted_key_reaches_only_itself() {
    reaches_only_itself(Keyward::start_set_up().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_database_behaves_alike_for_restricted_keys() {
    let keyward = Keyward::start_on(Storage::embedded()).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    keyward
        .command(bootstrap, keyward_tests::keyward::OWNER_PASSWORD)
        .await;
    reaches_only_itself(keyward).await;
}

async fn reaches_only_itself(keyward: Keyward) {
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let first = owner.api_with_first_key().await;
    let current = first.get("/user/api-keys/current").await;
    assert_eq!(current["canManageKeys"], true);
    let asked = create(&first, json!({"name": "deploy", "canManageKeys": false})).await;
    let deploy = first.with_token(text(&asked, "key"));

    let listed = deploy.list("?status=all").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["items"][0]["id"], asked["id"]);
    let path = format!("/user/api-keys/{}", text(&current, "id"));
    let update = deploy.request(Method::PATCH, &path);
    for request in [
        deploy.request(Method::GET, &path),
        update.json(&json!({"name": "stolen"})),
        deploy.request(Method::DELETE, &path),
    ] {
        let answer = request.send().await;
        expect(answer.expect("an answer"), StatusCode::NOT_FOUND).await;
    }
    let request = deploy.request(Method::POST, "/user/api-keys");
    let answer = request.json(&json!({"name": "child"})).send().await;
    let problem = expect(answer.expect("an answer"), StatusCode::FORBIDDEN).await;
    assert_eq!(problem["code"], "key_may_not_manage_keys");
    deploy.delete("current").await;
    assert!(!deploy.is_accepted().await);
    assert!(first.is_accepted().await);

    let choice = "/organizations/engines/settings/general/new-keys";
    for (chosen, expected) in [("no", false), ("yes", true)] {
        owner.submit(choice, &[("manage_keys", chosen)]).await;
        let created = create(&first, json!({"name": "as chosen"})).await;
        assert_eq!(created["canManageKeys"], expected);
    }
    let log = keyward
        .command("admin audit-log --organization engines", "")
        .await;
    for action in [
        "api_key.create_restricted",
        "organization.disable_default_key_management",
        "organization.enable_default_key_management",
    ] {
        assert!(log.contains(action), "{action}: {log}");
    }
}

async fn create(api: &Api, body: Value) -> Value {
    let request = api.request(Method::POST, "/user/api-keys").json(&body);
    expect(request.send().await.expect("an answer"), StatusCode::CREATED).await
}
