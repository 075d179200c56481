//! An organization's journey: an owner invites a user, who joins, works with keys, is removed, and is invited
//! anew.

use crate::browser::Browser;
use crate::journey::create_key;
use keyward_tests::api::{Api, text};
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};
use keyward_tests::storage::Storage;

const MEMBERS: &str = "/organizations/engines/settings/members";
const KEYS: &str = "/organizations/engines/settings/api-keys";
const KEYS_ELSEWHERE: &str = "/organizations/observatory/settings/api-keys";

#[tokio::test(flavor = "multi_thread")]
async fn removed_member_loses_every_key_and_returns_as_new_consumer() {
    plays(Storage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_database_passes_the_organization_journey() {
    plays(Storage::embedded()).await;
}

async fn plays(storage: Storage) {
    let keyward = Keyward::start_on(storage).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    keyward.command(bootstrap, OWNER_PASSWORD).await;
    let anonymous = Api::anonymous(keyward.base_url());
    let (owner, member) = (Browser::open().await, Browser::open().await);
    sign_in(&owner, &keyward).await;

    let link = invite(&owner, &keyward, "The new colleague").await;
    joins_as_newcomer(&member, &link).await;
    let first = anonymous.with_token(&create_key(&member, "laptop", "").await);
    let second = first.create("made by the first", "").await;
    let second = anonymous.with_token(text(&second, "key"));
    let elsewhere = works_elsewhere_too(&member, &keyward, &first).await;

    removes(&owner, &keyward).await;
    assert!(
        !first.is_accepted().await && !second.is_accepted().await,
        "the keys of the removed user"
    );
    is_not_there(&member, &keyward, KEYS).await;
    assert!(elsewhere.is_accepted().await, "the key of another organization");
    member.go_to(&url(&keyward, KEYS_ELSEWHERE)).await;
    assert!(member.text().await.contains("telescope"));

    let link = invite(&owner, &keyward, "The old colleague").await;
    member.go_to(&link).await;
    member.press("Join as Grace Hopper").await;
    member.element(".empty").await;
    let anew = anonymous.with_token(&create_key(&member, "laptop again", "").await);
    let list = anew.list("?status=all").await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(text(&anew.get("/user").await, "username"), "grace");
    assert!(
        !first.is_accepted().await && !second.is_accepted().await,
        "keys from before"
    );
    owner.close().await;
    member.close().await;

    keyward.terminate().await;
    let (code, log, _) = keyward.ended().await;
    assert_eq!(code, Some(0), "{log}");
    let (_, secret) = link.split_once("token=").expect("a link");
    assert!(log.contains("/join") && !log.contains(secret), "{log}");
}

fn url(keyward: &Keyward, path: &str) -> String {
    format!("{}{path}", keyward.base_url())
}

async fn sign_in(owner: &Browser, keyward: &Keyward) {
    owner.go_to(&url(keyward, "/sign-in")).await;
    owner.fill("username", "ada").await;
    owner.fill("password", OWNER_PASSWORD).await;
    owner.press("Sign in").await;
    owner.element(".empty").await;
}

/// Returns the link, which no page shows again, and which loading the page anew does not multiply.
async fn invite(owner: &Browser, keyward: &Keyward, invitee: &str) -> String {
    owner.go_to(&url(keyward, MEMBERS)).await;
    owner.press("Invite member").await;
    owner.fill("invitee", invitee).await;
    owner.press("Create invitation").await;
    let link = owner.element("#link").await.value().await.expect("a field");
    let link = link.expect("a link");
    owner.driver.refresh().await.expect("a reload");
    owner.element("tbody").await;
    let page = owner.source().await;
    assert_eq!(page.matches("Revoke").count(), 1, "{page}");
    assert!(page.contains(invitee) && !page.contains("token="), "{page}");
    owner.driver.back().await.expect("back");
    owner.element("main").await;
    assert!(!owner.source().await.contains(&link), "after going back");
    link
}

async fn joins_as_newcomer(member: &Browser, link: &str) {
    member.go_to(link).await;
    assert!(member.text().await.contains("Engines"));
    keeps_its_secret_out_of_the_address(member, link).await;
    member.fill("display_name", "Grace Hopper").await;
    member.fill("username", "grace").await;
    member.fill("password", "seven lamps burn low").await;
    member.press("Create account and join").await;
    member.element(".empty").await;
    assert!(member.text().await.contains("You have joined"));
    assert!(member.address().await.ends_with(KEYS));
    member.driver.refresh().await.expect("a reload");
    member.element(".empty").await;
    assert!(!member.text().await.contains("You have joined"), "after a reload");
    member.go_to(link).await;
    assert!(member.text().await.contains("This invitation is no longer valid"));
    member.go_to(link.split_once("/join").expect("a link").0).await;
}

/// A reload and the way back lead to the same invitation, even if another one was opened meanwhile.
async fn keeps_its_secret_out_of_the_address(member: &Browser, link: &str) {
    let (bare, _) = link.split_once('?').expect("a link");
    let is_there = async |when: &str| {
        member.element("[name=display_name]").await;
        assert_eq!(member.address().await, bare, "{when}");
    };
    is_there("at first").await;
    member.driver.refresh().await.expect("a reload");
    is_there("after a reload").await;
    member.go_to(&format!("{bare}?token=x")).await;
    assert!(member.text().await.contains("This invitation is no longer valid"));
    assert_eq!(member.address().await, bare);
    member.driver.back().await.expect("back");
    is_there("after another link").await;
}

/// Makes a key in another organization, and sees that neither consumer knows of the other's.
async fn works_elsewhere_too(member: &Browser, keyward: &Keyward, here: &Api) -> Api {
    let create = "admin create-organization --name Observatory --owner grace";
    keyward.command(create, "").await;
    member.go_to(&url(keyward, KEYS)).await;
    let switcher = member.element(".switcher summary").await;
    switcher.click().await.expect("a click");
    member.press("Observatory").await;
    member.element(".empty").await;
    assert!(member.address().await.ends_with(KEYS_ELSEWHERE));
    let token = create_key(member, "telescope", "").await;
    let elsewhere = Api::anonymous(keyward.base_url()).with_token(&token);
    let (one, other) = (here.get("/user").await, elsewhere.get("/user").await);
    assert_eq!(one["userId"], other["userId"]);
    assert_ne!(one["consumerId"], other["consumerId"]);
    let foreign = text(&elsewhere.get("/user/api-keys/current").await, "id").to_owned();
    let missing = here.request(reqwest::Method::GET, &format!("/user/api-keys/{foreign}"));
    let missing = missing.send().await.expect("an answer");
    assert_eq!(missing.status(), reqwest::StatusCode::NOT_FOUND);
    for (api, path, own, foreign) in [
        (here, KEYS, "laptop", "telescope"),
        (&elsewhere, KEYS_ELSEWHERE, "telescope", "laptop"),
    ] {
        let list = api.list("?status=all").await.to_string();
        member.go_to(&url(keyward, path)).await;
        for page in [list, member.text().await] {
            assert!(page.contains(own) && !page.contains(foreign), "{page}");
        }
    }
    elsewhere
}

/// The owner sees the keys that stop, and removes the member.
async fn removes(owner: &Browser, keyward: &Keyward) {
    owner.go_to(&url(keyward, MEMBERS)).await;
    owner.press("Manage Grace Hopper").await;
    owner.press("Remove member").await;
    owner
        .element("[name=confirm]")
        .await
        .click()
        .await
        .expect("a click");
    let page = owner.text().await;
    assert!(page.contains("2 keys will stop working"), "{page}");
    assert!(
        page.contains("laptop") && page.contains("made by the first"),
        "{page}"
    );
    assert!(!page.contains("telescope"), "{page}");
    owner.press("Remove member").await;
    owner.element("[data-notice]").await;
    let list = owner.text().await;
    assert!(
        list.contains("Grace Hopper was removed and no longer has access."),
        "{list}"
    );
    assert_eq!(list.matches("Grace Hopper").count(), 1, "{list}");
}

async fn is_not_there(browser: &Browser, keyward: &Keyward, path: &str) {
    browser.go_to(&url(keyward, path)).await;
    let page = browser.text().await;
    assert!(page.contains("Page not found"), "{page}");
}
