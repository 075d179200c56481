//! The way the product is for: from the setup link to a key, to the keys made with it, to their end.

use reqwest::Method;
use serde_json::{Value, json};

use crate::browser::Browser;
use keyward_tests::api::{Api, expect, text};
use keyward_tests::console::token_in;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};
use keyward_tests::storage::Storage;

#[tokio::test(flavor = "multi_thread")]
async fn first_key_comes_from_the_console_others_through_the_api() {
    plays(Keyward::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_database_passes_the_key_journey() {
    plays(Keyward::start_on(Storage::embedded()).await).await;
}

async fn plays(keyward: Keyward) {
    let link = keyward.command("admin setup-link", "").await;
    let browser = Browser::open().await;

    set_up(&browser, link.trim()).await;
    let token = create_key(&browser, "laptop", "for trying things out").await;

    let api = Api::anonymous(keyward.base_url());
    let first = api.with_token(&token);
    let second = first.create("deployment", "made by the first").await;
    let third = api
        .with_token(text(&second, "key"))
        .create("nightly job", "made by the second")
        .await;
    assert_eq!(text(&second, "key"), text(&second, "fullKey"));
    assert_eq!(text(&second, "consumerUsername"), "ada");

    lists_them_without_tokens_and_with_their_parents(&first, &second, &third).await;
    renames(&first, &third).await;
    let third_api = api.with_token(text(&third, "key"));
    first.delete(text(&second, "id")).await;
    first.delete(text(&second, "id")).await;
    assert!(
        !api.with_token(text(&second, "key")).is_accepted().await,
        "the deleted key"
    );
    assert!(
        first.is_accepted().await && third_api.is_accepted().await,
        "the other keys"
    );

    revokes_with_descendants(&browser, &keyward, &first).await;
    assert!(
        !first.is_accepted().await && !third_api.is_accepted().await,
        "the key and what came of it"
    );
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_and_back_after_token_page_show_no_token() {
    let keyward = Keyward::start().await;
    let link = keyward.command("admin setup-link", "").await;
    let browser = Browser::open().await;
    set_up(&browser, link.trim()).await;
    let token = create_key(&browser, "only once", "").await;
    let api = Api::anonymous(keyward.base_url()).with_token(&token);
    let shown_at = browser.address().await;

    browser.press("I have saved it").await;
    browser.element("table").await;
    browser.driver.back().await.expect("back");
    let list = browser
        .element("table.own-keys")
        .await
        .text()
        .await
        .expect("text");
    assert!(
        list.contains("only once"),
        "the list, and no form to send again: {list}"
    );
    shows_no_token(&browser, "after going back").await;

    create_key(&browser, "a second one", "").await;
    browser.driver.refresh().await.expect("a reload");
    let list = browser
        .element("table.own-keys")
        .await
        .text()
        .await
        .expect("text");
    assert!(list.contains("a second one"), "{list}");
    shows_no_token(&browser, "after a reload").await;
    browser.driver.back().await.expect("back");
    browser.element("main").await;
    shows_no_token(&browser, "after going back to the form").await;
    browser.driver.forward().await.expect("forward");
    browser.element("main").await;
    shows_no_token(&browser, "after going forward").await;

    browser.driver.new_tab().await.expect("a second tab");
    browser.go_to(&shown_at).await;
    shows_no_token(&browser, "in a second tab").await;

    let keys = api.list("?status=all").await;
    assert_eq!(keys["items"].as_array().map(Vec::len), Some(2), "{keys}");
    browser.close().await;
}

async fn set_up(browser: &Browser, link: &str) {
    browser.go_to(link).await;
    browser.driver.refresh().await.expect("a reload");
    browser.fill("organization", "Engines").await;
    assert!(
        browser.address().await.ends_with("/setup"),
        "the secret is not in it"
    );
    browser.fill("username", "ada").await;
    browser.fill("display_name", "Ada Lovelace").await;
    browser.fill("password", OWNER_PASSWORD).await;
    browser.press("Create organization").await;
    if browser.address().await.ends_with("/sign-in") {
        browser.fill("username", "ada").await;
        browser.fill("password", OWNER_PASSWORD).await;
        browser.press("Sign in").await;
    }
    assert!(
        browser
            .address()
            .await
            .contains("/organizations/engines/settings/api-keys")
    );
}

/// Creates a key in the console, from the list of keys, and takes its token from the page.
pub(crate) async fn create_key(browser: &Browser, name: &str, description: &str) -> String {
    let address = browser.address().await;
    let keys_page = address.split_once('?').map_or(&*address, |(page, _)| page);
    browser.go_to(&format!("{keys_page}/new")).await;
    browser.fill("name", name).await;
    browser.fill("description", description).await;
    browser.press("Create API key").await;
    browser.element("[data-token], #token, input[readonly]").await;
    token_in(&browser.source().await).expect("a token on the page")
}

async fn shows_no_token(browser: &Browser, when: &str) {
    let page = browser.source().await;
    assert_eq!(token_in(&page), None, "a token is shown {when}");
}

async fn lists_them_without_tokens_and_with_their_parents(first: &Api, second: &Value, third: &Value) {
    let first_id = text(&first.get("/user/api-keys/current").await, "id").to_owned();
    let list = first.list("").await;
    let items = list["items"].as_array().expect("items");
    let rows: Vec<(&str, Option<&str>)> = items
        .iter()
        .map(|item| (text(item, "name"), item["createdByKeyId"].as_str()))
        .collect();
    let expected = [
        ("nightly job", Some(text(second, "id"))),
        ("deployment", Some(first_id.as_str())),
        ("laptop", None),
    ];
    assert_eq!(rows, expected);
    assert_eq!(token_in(&list.to_string()), None);
    assert_eq!(
        text(&items[0], "hint"),
        format!("kwp_…{}", &text(third, "key")[38..])
    );

    let page = first.list("?limit=2").await;
    let next = first
        .list(&format!("?limit=2&cursor={}", text(&page, "nextCursor")))
        .await;
    assert_eq!(next["items"].as_array().map(Vec::len), Some(1));
    let found = first.list("?search=NIGHTLY").await;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
}

async fn renames(api: &Api, key: &Value) {
    let path = format!("/user/api-keys/{}", text(key, "id"));
    let request = api
        .request(Method::PATCH, &path)
        .json(&json!({ "name": "weekly job" }));
    let item = expect(request.send().await.expect("an answer"), reqwest::StatusCode::OK).await;
    assert_eq!(
        (text(&item, "name"), text(&item, "description")),
        ("weekly job", "made by the second")
    );
    assert_eq!(api.get(&path).await, item);
}

/// Revokes the first key in the console, with the keys made from it, which the console names before.
async fn revokes_with_descendants(browser: &Browser, keyward: &Keyward, first: &Api) {
    let id = text(&first.get("/user/api-keys/current").await, "id").to_owned();
    let keys_page = format!("{}/organizations/engines/settings/api-keys", keyward.base_url());
    browser.go_to(&format!("{keys_page}/{id}/revoke")).await;
    let page = browser.text().await;
    assert!(page.contains("laptop") && page.contains("weekly job"), "{page}");
    for name in ["descendants", "confirm"] {
        browser
            .element(&format!("[name={name}]"))
            .await
            .click()
            .await
            .expect("a click");
    }
    browser.press("Revoke key").await;
    browser.element("[role=status]").await;
}
