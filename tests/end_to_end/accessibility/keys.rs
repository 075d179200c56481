//! Pages of keys, for holders and owners.

use super::tour::Tour;
use keyward_tests::api::text;
use keyward_tests::keyward::Keyward;

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_editing_and_revoking_a_key() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    let api = tour.sign_in_and_create_first_key().await;
    for number in 0..8 {
        api.create(&format!("child {number}"), "").await;
    }
    let second = text(&api.create("to rotate", "").await, "id").to_owned();
    let first = text(&api.get("/user/api-keys/current").await, "id").to_owned();
    let keys = "/organizations/engines/settings/api-keys";
    let revoke = format!("{keys}/{first}/revoke");

    tour.go_and_look("revoke API key", &revoke).await;
    tour.press_unvalidated("Revoke key").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("revoke API key unconfirmed").await;
    let edit = format!("{keys}/{first}/edit");
    tour.go_and_look("edit API key", &edit).await;
    tour.browser.fill("name", " ").await;
    tour.press_unvalidated("Save changes").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("edit API key with errors").await;
    tour.browser.fill("name", "first").await;
    tour.browser.press("Save changes").await;
    tour.browser.element("[data-notice]").await;
    tour.look("API key edited").await;
    let rotate = format!("{keys}/{second}/rotate");
    tour.go_and_look("rotate API key", &rotate).await;
    tour.browser.press("Rotate key").await;
    tour.browser.element("[data-forget]").await;
    tour.look("API key rotated").await;
    tour.go_and_look("API key rotated before", &rotate).await;
    tour.go_and_look("a key to revoke", &format!("{keys}?search=first"))
        .await;
    tour.click("a[data-dialog]").await;
    tour.browser.element("dialog[open] [name=confirm]").await;
    tour.look("revoke API key in a dialog").await;
    tour.click("dialog[open] [name=confirm]").await;
    tour.browser.press("Revoke key").await;
    tour.browser.element("[data-notice]").await;
    tour.look("API key revoked").await;
    tour.go_and_look("API key revoked before", &revoke).await;
    tour.go_and_look("an API key that cannot be edited", &edit).await;
    let rotate = format!("{keys}/{first}/rotate");
    tour.go_and_look("an API key that cannot be rotated", &rotate)
        .await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_organization_key_pages() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    let all = "/organizations/engines/settings/api-keys/all";
    tour.sign_in().await;
    tour.go_and_look("no member has a key", all).await;
    let api = tour.create_first_key().await;
    let child = api.create("child", "What it is for.").await;
    let child = text(&child, "id");
    tour.go_and_look("a key's tree", &format!("{all}/{child}")).await;
    tour.browser
        .go_to(&tour.url("/organizations/engines/settings/general"))
        .await;
    tour.browser.fill("days", "30").await;
    tour.click("form[action$='/key-life'] button").await;
    tour.browser.element("[data-notice]").await;
    tour.browser.press("Apply to existing keys").await;
    tour.browser.element("[name=confirm]").await;
    tour.look("apply the maximum lifetime to existing keys").await;
    tour.press_unvalidated("Apply maximum lifetime").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("apply the maximum lifetime unconfirmed").await;
    tour.click("[name=confirm]").await;
    tour.browser.press("Apply maximum lifetime").await;
    tour.browser.element("[data-notice]").await;
    tour.browser.press("Apply to existing keys").await;
    tour.look("no key lives longer").await;
    let first = text(&api.get("/user/api-keys/current").await, "id").to_owned();
    let revoke = format!("{all}/revoke?key-{first}=on");
    tour.go_and_look("revoke a member's key", &revoke).await;
    tour.browser.fill("note", " ").await;
    tour.press_unvalidated("Revoke key").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("revoke a member's key unconfirmed").await;
    tour.browser.fill("note", "The laptop was stolen").await;
    tour.click("[name=confirm]").await;
    tour.browser.press("Revoke key").await;
    tour.browser.element("[data-notice]").await;
    tour.look("a member's key revoked").await;
    tour.go_and_look("nothing to revoke", &revoke).await;
    tour.go_and_look("a revoked key's tree", &format!("{all}/{first}"))
        .await;
    tour.go_and_look(
        "API keys revoked by an owner",
        "/organizations/engines/settings/api-keys?status=all",
    )
    .await;
    tour.end().await;
}
