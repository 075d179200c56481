//! On a narrow screen, names of any length push nothing out of sight.

use serde_json::json;

use crate::browser::Browser;
use keyward_tests::api::{Api, text};
use keyward_tests::console::token_in;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};

const NARROWEST: u32 = 320;

#[tokio::test(flavor = "multi_thread")]
async fn narrow_pages_fit_long_names_and_many_descendants() {
    let keyward = Keyward::start().await;
    let link = keyward.command("admin setup-link", "").await;
    let browser = Browser::open().await;
    narrow(&browser).await;
    browser.go_to(link.trim()).await;
    browser.fill("organization", &"O".repeat(100)).await;
    browser.fill("username", &"u".repeat(39)).await;
    browser.fill("display_name", &"D".repeat(100)).await;
    browser.fill("password", OWNER_PASSWORD).await;
    fits(&browser, "setup").await;
    browser.press("Create organization").await;

    let keys_page = browser.address().await;
    fits(&browser, "no keys yet").await;
    browser.go_to(&format!("{keys_page}/new")).await;
    browser.fill("name", &"W".repeat(100)).await;
    fits(&browser, "new key").await;
    browser.press("Create API key").await;
    browser.element("input#token").await;
    fits(&browser, "token").await;
    let token = token_in(&browser.source().await).expect("a token on the page");

    let api = Api::anonymous(keyward.base_url()).with_token(&token);
    for number in 0..25 {
        api.create(&format!("child {number} {}", "w".repeat(60)), &"d".repeat(500))
            .await;
    }
    browser.go_to(&keys_page).await;
    fits(&browser, "keys").await;
    browser.go_to(&keys_page.replace("api-keys", "general")).await;
    fits(&browser, "general").await;
    browser
        .go_to(&keys_page.replace("api-keys", "general/leave"))
        .await;
    fits(&browser, "leave").await;

    let first = text(&api.get("/user/api-keys/current").await, "id").to_owned();
    browser.go_to(&format!("{keys_page}/all")).await;
    fits(&browser, "all keys").await;
    browser.go_to(&format!("{keys_page}/all/{first}")).await;
    fits(&browser, "a key tree").await;
    browser
        .go_to(&format!("{keys_page}/all/revoke?key-{first}=on"))
        .await;
    fits(&browser, "revoking many").await;
    for page in ["audit-log", "audit-log?who=nobody", "members", "projects"] {
        browser.go_to(&keys_page.replace("api-keys", page)).await;
        fits(&browser, page).await;
    }
    browser.go_to(&format!("{}/account", keyward.base_url())).await;
    fits(&browser, "account").await;
    browser.go_to(&format!("{keys_page}?search=WWWW")).await;
    browser
        .element(&format!("a[href*='{first}/revoke']"))
        .await
        .click()
        .await
        .expect("a click");
    browser.element("dialog[open] [name=confirm]").await;
    fits(&browser, "revoke").await;
    let top = number(
        &browser,
        "document.querySelector('dialog[open] h1, dialog[open] h2').getBoundingClientRect().top",
    )
    .await;
    assert!(top >= 0.0, "the question is scrolled out of sight: {top}");
    people_fit(&browser, &keys_page.replace("api-keys", "members")).await;
    browser.close().await;
}

/// The pages of members and invitations, and the page of an invitation's link.
async fn people_fit(browser: &Browser, members: &str) {
    browser.go_to(members).await;
    fits(browser, "members").await;
    browser.press("Manage").await;
    browser.element(".part").await;
    fits(browser, "member").await;
    browser.go_to(&format!("{members}/invite")).await;
    fits(browser, "invite").await;
    browser.fill("invitee", &"W".repeat(100)).await;
    browser.press("Create invitation").await;
    let link = browser.element("#link").await.value().await;
    let link = link.expect("a field").expect("a link");
    fits(browser, "invitation's link").await;
    browser.press("Done").await;
    browser.element("tbody").await;
    fits(browser, "invitations").await;
    browser.go_to(&link).await;
    fits(browser, "already a member").await;
    browser
        .driver
        .delete_all_cookies()
        .await
        .expect("the cookies are deleted");
    browser.go_to(&link).await;
    browser.element("[name=password]").await;
    fits(browser, "join").await;
}

async fn narrow(browser: &Browser) {
    let metrics = json!({ "width": NARROWEST, "height": 700, "deviceScaleFactor": 1, "mobile": false });
    let narrowed = browser
        .driver
        .cdp()
        .send_raw("Emulation.setDeviceMetricsOverride", metrics)
        .await;
    narrowed.expect("a narrow screen");
}

async fn fits(browser: &Browser, page: &str) {
    let width = number(browser, "document.documentElement.scrollWidth").await;
    assert!(
        width <= f64::from(NARROWEST),
        "the page “{page}” is {width} px wide"
    );
}

async fn number(browser: &Browser, expression: &str) -> f64 {
    let value = browser
        .driver
        .execute(format!("return {expression}"), Vec::new())
        .await;
    value.expect("a value").json().as_f64().expect("a number")
}
