//! axe-core finds nothing on any page, in any of its states, in either theme, on a wide and on a narrow
//! screen.
//!
//! A page that its URL is enough for is one line in [`PAGES`]; one that takes an action to reach is checked
//! in the test of that action. A page that another one links to and that was not checked fails its test.

mod account;
mod detection;
mod documentation;
mod keys;
mod people;
mod projects;
mod tour;

use self::tour::Tour;
use keyward_tests::api::text;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};

const SETTINGS: &str = "/organizations/engines/settings/";

/// The pages of a member of the organization `engines` who has keys; relative paths are below [`SETTINGS`].
const PAGES: &[(&str, &str)] = &[
    ("general", "general"),
    ("projects", "projects"),
    ("archived projects", "projects?status=archived"),
    ("all projects", "projects?status=all"),
    ("no projects found", "projects?status=all&search=nothing"),
    ("new project", "projects/new"),
    ("API keys", "api-keys"),
    ("revoked API keys", "api-keys?status=revoked"),
    ("all API keys", "api-keys?status=all"),
    ("found API keys", "api-keys?search=child"),
    ("no API keys found", "api-keys?search=nothing"),
    ("new API key", "api-keys/new"),
    ("API keys of all members", "api-keys/all"),
    ("revoked API keys of all members", "api-keys/all?status=revoked"),
    ("no API keys of members found", "api-keys/all?search=nothing"),
    (
        "API keys issued before a moment",
        "api-keys/all/revoke?before=2020-01-01T00:00",
    ),
    ("audit log", "audit-log"),
    ("audit log of an unknown user", "audit-log?who=nobody"),
    ("no events found", "audit-log?action=project.archive"),
    ("account", "/account"),
    ("leave", "general/leave"),
    ("members", "members"),
    ("no members found", "members?search=nothing"),
    ("no invitations", "members/invitations"),
    ("invite member", "members/invite"),
    ("a dead invitation", "/join?token=x"),
    ("nothing here", "/no-such-page"),
    ("an address for forms", "/sign-out"),
    ("API reference", "/docs"),
    ("unknown problem", "/problems/no_such_problem"),
];

/// [`PAGES`] with whole paths.
fn pages() -> impl Iterator<Item = (&'static str, String)> {
    let base = |path: &str| if path.starts_with('/') { "" } else { SETTINGS };
    PAGES
        .iter()
        .map(move |(page, path)| (*page, format!("{}{path}", base(path))))
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_from_setup_to_the_first_key() {
    let keyward = Keyward::start().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.go_and_look("not set up", "/").await;
    tour.go_and_look("a dead setup link", "/setup?token=x").await;

    let link = keyward.command("admin setup-link", "").await;
    tour.browser.go_to(link.trim()).await;
    tour.look("setup").await;
    tour.browser.fill("organization", "Engines").await;
    tour.browser.fill("username", "no name").await;
    tour.browser.fill("display_name", "Ada").await;
    tour.browser.fill("password", "too short").await;
    tour.browser.press("Create organization").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("setup with errors").await;
    tour.browser.fill("username", "ada").await;
    tour.browser.fill("password", OWNER_PASSWORD).await;
    tour.browser.press("Create organization").await;

    tour.browser.element(".empty").await;
    tour.look("no API keys yet").await;
    tour.browser.press("Create API key").await;
    tour.browser.fill("name", " ").await;
    tour.press_unvalidated("Create API key").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("new API key with errors").await;
    tour.browser.fill("name", "laptop").await;
    tour.browser.press("Create API key").await;
    tour.browser.element("#token").await;
    tour.look("fresh token").await;
    tour.browser.driver.refresh().await.expect("a reload");
    tour.browser.element("table.own-keys").await;
    tour.look("list after a reload").await;
    tour.browser.go_to(link.trim()).await;
    tour.look("a used setup link").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_member_pages() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    let api = tour.sign_in_and_create_first_key().await;
    for number in 0..60 {
        let length = if number % 20 == 0 { 20 } else { 0 };
        api.create(&format!("child {number}"), &"What it is for. ".repeat(length))
            .await;
    }
    let revoked = api.create("revoked", "").await;
    api.delete(text(&revoked, "id")).await;
    for (page, path) in pages() {
        tour.go_and_look(page, &path).await;
    }
    let token = "/organizations/engines/settings/api-keys?search=kwp_000000000000000000000000000000002wjyrI";
    tour.browser.go_to(&tour.url(token)).await;
    tour.look("API keys without the token").await;
    // As after leaving another organization.
    let left = "document.cookie = 'flash=left; Path=/'";
    tour.browser.driver.execute(left, vec![]).await.expect("a cookie");
    tour.go_and_look("left", "/").await;
    tour.end().await;
}
