//! Changes of projects by owners decide which projects the next request reaches.

use reqwest::{Method, StatusCode};

use keyward_tests::api::{Api, text};
use keyward_tests::console::{PlainConsole, hidden_value};
use keyward_tests::keyward::Keyward;
use keyward_tests::storage::Storage;

const PROJECTS: &str = "/organizations/engines/settings/projects";
const GRACE_PASSWORD: &str = "seven slow boats sail";

#[tokio::test(flavor = "multi_thread")]
async fn members_key_reaches_a_project_while_its_owner_allows() {
    reaches(Keyward::start_set_up().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_database_behaves_alike_for_projects() {
    let keyward = Keyward::start_on(Storage::embedded()).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    keyward
        .command(bootstrap, keyward_tests::keyward::OWNER_PASSWORD)
        .await;
    reaches(keyward).await;
}

async fn reaches(keyward: Keyward) {
    let create_user = "admin create-user --organization engines --username grace --password-stdin";
    keyward.command(create_user, GRACE_PASSWORD).await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let owners_key = owner.api_with_first_key().await;
    let grace = PlainConsole::sign_in(keyward.base_url(), "grace", GRACE_PASSWORD).await;
    let key = grace.api_with_first_key().await;
    assert_eq!(reached(&key).await, Vec::<String>::new());

    let page = owner
        .create_project(&format!("{PROJECTS}/new"), "Difference Engine")
        .await;
    let project = page.split('?').next().expect("an address").to_owned();
    let id = project.rsplit('/').next().expect("an identifier");
    assert_eq!(reached(&key).await, Vec::<String>::new());

    let found = owner.get(&format!("{project}/add-members?search=grace")).await;
    let member = hidden_value(&found, "member").expect("grace is found");
    let member = [("member", member.as_str())];
    owner.submit(&format!("{project}/add-members"), &member).await;
    assert_eq!(reached(&key).await, ["Difference Engine"]);
    assert_eq!(text(&key.get(&format!("/user/projects/{id}")).await, "id"), id);
    assert_eq!(
        reached(&owners_key).await,
        Vec::<String>::new(),
        "an owner outside"
    );
    assert!(grace.get(PROJECTS).await.contains("Difference Engine"));

    let confirmed = [("confirm", "yes")];
    owner.submit(&format!("{project}/archive"), &confirmed).await;
    assert_eq!(reached(&key).await, Vec::<String>::new());
    let path = format!("/user/projects/{id}");
    let answer = key.request(Method::GET, &path).send().await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);

    owner.submit(&format!("{project}/restore"), &[]).await;
    assert_eq!(reached(&key).await, ["Difference Engine"]);

    owner.submit(&format!("{project}/remove-member"), &member).await;
    assert_eq!(reached(&key).await, Vec::<String>::new());
    assert!(key.is_accepted().await, "the key itself works");
}

/// The names of the projects that a key reaches at this moment.
async fn reached(key: &Api) -> Vec<String> {
    let page = key.get("/user/projects").await;
    let items = page["items"].as_array().expect("items");
    items.iter().map(|item| text(item, "name").to_owned()).collect()
}
