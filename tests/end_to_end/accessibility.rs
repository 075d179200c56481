//! axe-core finds nothing on any page, in any of its states, in either theme, on a wide and on a narrow screen.
//!
//! A page that an address is enough for is one line in [`PAGES`]; one that takes an act to reach is seen in the test
//! that acts. A page that another one leads to and that nobody looked at fails its test.

mod tour;

use serde_json::json;
use thirtyfour::prelude::*;

use self::tour::{THEMES, Tour, WIDTHS};
use crate::api::text;
use crate::keyward::{Keyward, OWNER_PASSWORD};

/// The pages of a member of the organization `engines` who has keys.
const PAGES: &[(&str, &str)] = &[
    ("general", "/organizations/engines/settings/general"),
    ("projects", "/organizations/engines/settings/projects"),
    (
        "archived projects",
        "/organizations/engines/settings/projects?status=archived",
    ),
    (
        "all projects",
        "/organizations/engines/settings/projects?status=all",
    ),
    (
        "no projects found",
        "/organizations/engines/settings/projects?status=all&search=nothing",
    ),
    ("new project", "/organizations/engines/settings/projects/new"),
    ("API keys", "/organizations/engines/settings/api-keys"),
    (
        "revoked API keys",
        "/organizations/engines/settings/api-keys?status=revoked",
    ),
    (
        "all API keys",
        "/organizations/engines/settings/api-keys?status=all",
    ),
    (
        "found API keys",
        "/organizations/engines/settings/api-keys?search=child",
    ),
    (
        "no API keys found",
        "/organizations/engines/settings/api-keys?search=nothing",
    ),
    ("new API key", "/organizations/engines/settings/api-keys/new"),
    (
        "everybody's API keys",
        "/organizations/engines/settings/api-keys/all",
    ),
    (
        "everybody's revoked API keys",
        "/organizations/engines/settings/api-keys/all?status=revoked",
    ),
    (
        "nobody's API keys",
        "/organizations/engines/settings/api-keys/all?search=nothing",
    ),
    (
        "API keys issued before a moment",
        "/organizations/engines/settings/api-keys/all/revoke?before=2199-01-01T00:00",
    ),
    ("audit log", "/organizations/engines/settings/audit-log"),
    (
        "audit log of nobody",
        "/organizations/engines/settings/audit-log?who=nobody",
    ),
    (
        "no events found",
        "/organizations/engines/settings/audit-log?action=project.archive",
    ),
    ("account", "/account"),
    ("leave", "/organizations/engines/settings/general/leave"),
    ("left", "/?left=elsewhere"),
    ("members", "/organizations/engines/settings/members"),
    (
        "no members found",
        "/organizations/engines/settings/members?search=nothing",
    ),
    (
        "nobody invited",
        "/organizations/engines/settings/members/invitations",
    ),
    ("invite member", "/organizations/engines/settings/members/invite"),
    ("a dead invitation", "/join?token=x"),
    ("nothing here", "/no-such-page"),
    ("an address for forms", "/sign-out"),
    ("API reference", "/docs"),
    ("unknown problem", "/problems/no_such_problem"),
];

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_the_way_to_the_first_key() {
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
    tour.browser.press("Create key").await;
    tour.browser.fill("name", " ").await;
    tour.press_unvalidated("Create key").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("new API key with errors").await;
    tour.browser.fill("name", "laptop").await;
    tour.browser.press("Create key").await;
    tour.browser.element("#token").await;
    tour.look("fresh token").await;
    tour.browser.driver.refresh().await.expect("a reload");
    tour.browser.element("[role=status]").await;
    tour.look("already created").await;
    tour.browser.go_to(link.trim()).await;
    tour.look("a used setup link").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_the_pages_of_a_member() {
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
    for (page, path) in PAGES {
        tour.go_and_look(page, path).await;
    }
    let without_token = "/organizations/engines/settings/api-keys?search=none&left-out=token";
    tour.browser.go_to(&tour.url(without_token)).await;
    tour.look("API keys without the token").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_a_project_is_run() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.sign_in().await;
    let projects = "/organizations/engines/settings/projects";
    tour.go_and_look("no projects yet", projects).await;
    tour.go_and_look("new project", &format!("{projects}/new")).await;
    tour.press_unvalidated("Create project").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("new project with errors").await;
    tour.browser.fill("name", "Engine").await;
    tour.browser.press("Create project").await;
    tour.browser.element("[data-notice]").await;
    tour.look("project created").await;
    let project = tour.browser.address().await;
    let project = project.split('?').next().expect("an address").to_owned();

    tour.browser.press("Add members").await;
    tour.browser.element("[name=search]").await;
    tour.look("add members").await;
    tour.click("td button").await;
    tour.browser.element("[data-notice]").await;
    tour.look("member added").await;
    let search = format!("{project}/add-members?search=nobody");
    tour.browser.go_to(&search).await;
    tour.look("nobody to add").await;
    tour.browser.go_to(&project).await;
    tour.look("project with a member").await;
    tour.browser.element("#name").await;
    tour.browser.fill("name", " ").await;
    tour.press_unvalidated("Rename project").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("project renamed with errors").await;

    tour.browser.go_to(&format!("{project}/archive")).await;
    tour.look("archive project").await;
    tour.press_unvalidated("Archive project").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("archive project unconfirmed").await;
    tour.browser.go_to(&project).await;
    tour.click("a[data-dialog]").await;
    tour.browser.element("dialog[open] [name=confirm]").await;
    tour.look("archive project in a dialog").await;
    tour.click("dialog[open] [name=confirm]").await;
    tour.click("dialog[open] button.danger").await;
    tour.browser.element("[data-notice]").await;
    tour.look("project archived").await;
    tour.go_and_look("archived projects", &format!("{projects}?status=archived"))
        .await;
    tour.browser.go_to(&format!("{project}/archive")).await;
    tour.look("project archived before").await;
    tour.browser.go_to(&project).await;
    tour.browser.press("Restore project").await;
    tour.browser.element("[data-notice]").await;
    tour.look("project restored").await;
    tour.click("td button").await;
    tour.browser.element("[data-notice]").await;
    tour.look("member of a project removed").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_a_key_is_edited_and_revoked() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    let api = tour.sign_in_and_create_first_key().await;
    for number in 0..8 {
        api.create(&format!("child {number}"), "").await;
    }
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
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_an_owner_looks_after_all_keys() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    let all = "/organizations/engines/settings/api-keys/all";
    tour.sign_in().await;
    tour.go_and_look("nobody has a key", all).await;
    let api = tour.create_first_key().await;
    let child = api.create("child", "What it is for.").await;
    let child = text(&child, "id");
    tour.go_and_look("a key's family", &format!("{all}/{child}"))
        .await;
    let first = text(&api.get("/user/api-keys/current").await, "id").to_owned();
    let revoke = format!("{all}/revoke?key-{first}=on");
    tour.go_and_look("revoke a member's key", &revoke).await;
    tour.browser.fill("note", " ").await;
    tour.press_unvalidated("Revoke keys").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("revoke a member's key unconfirmed").await;
    tour.browser.fill("note", "The laptop was stolen").await;
    tour.click("[name=confirm]").await;
    tour.browser.press("Revoke keys").await;
    tour.browser.element("[data-notice]").await;
    tour.look("a member's key revoked").await;
    tour.go_and_look("nothing to revoke", &revoke).await;
    tour.go_and_look("a revoked key's family", &format!("{all}/{first}"))
        .await;
    tour.go_and_look(
        "API keys revoked by an owner",
        "/organizations/engines/settings/api-keys?status=all",
    )
    .await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_an_account_is_looked_after() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.sign_in().await;
    tour.browser
        .driver
        .delete_all_cookies()
        .await
        .expect("no cookies");
    tour.sign_in().await;
    tour.go_and_look("account with two sessions", "/account").await;
    tour.browser.fill("current_password", "not the password").await;
    tour.browser.fill("new_password", "too short").await;
    tour.browser.press("Change password").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("account with errors").await;
    tour.browser.press("Sign out everywhere else").await;
    tour.browser.element("[data-notice]").await;
    tour.look("signed out everywhere else").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_people_come_and_go() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    let members = "/organizations/engines/settings/members";
    tour.sign_in().await;
    tour.browser.go_to(&tour.url(&format!("{members}/invite"))).await;
    tour.browser.fill("invitee", " ").await;
    tour.press_unvalidated("Create invitation").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("invite member with errors").await;
    tour.browser.fill("invitee", "Grace").await;
    tour.browser.press("Create invitation").await;
    let link = tour.browser.element("#link").await.value().await;
    let link = link.expect("a field").expect("a link");
    tour.look("the invitation's link").await;
    tour.go_and_look("invitations", &format!("{members}/invitations"))
        .await;
    tour.browser.go_to(&link).await;
    tour.look("join as a member already").await;

    tour.browser.press("Go to Engines").await;
    tour.sign_out().await;
    tour.browser.go_to(&link).await;
    tour.look("join").await;
    tour.browser.fill("display_name", "Grace").await;
    tour.browser.fill("username", "ada").await;
    tour.browser.fill("password", "seven lamps burn low").await;
    tour.browser.press("Create account").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("join with errors").await;
    tour.browser.fill("username", "grace").await;
    tour.browser.fill("password", "seven lamps burn low").await;
    tour.browser.press("Create account").await;
    tour.browser.element(".empty").await;
    keyward
        .command("admin create-organization --name Observatory --owner ada", "")
        .await;
    tour.sign_out().await;

    tour.sign_in().await;
    let other = "/organizations/observatory/settings/members/invite";
    tour.browser.go_to(&tour.url(other)).await;
    tour.browser.fill("invitee", "Grace").await;
    tour.browser.press("Create invitation").await;
    let link = tour.browser.element("#link").await.value().await;
    let link = link.expect("a field").expect("a link");
    tour.browser.press("I have copied it").await;
    tour.browser.element("tbody").await;
    tour.sign_out().await;
    tour.browser.fill("username", "grace").await;
    tour.browser.fill("password", "seven lamps burn low").await;
    tour.browser.press("Sign in").await;
    tour.browser.element(".empty").await;
    tour.browser.go_to(&link).await;
    tour.look("join while signed in").await;
    tour.browser.press("Sign out").await;
    tour.browser.element("[name=password]").await;

    tour.sign_in().await;
    let leave = "/organizations/engines/settings/general/leave";
    tour.browser.go_to(&tour.url(leave)).await;
    tour.click("[name=confirm]").await;
    tour.browser.press("Leave organization").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("the last owner leaves").await;
    tour.browser.go_to(&tour.url(members)).await;
    tour.browser.press("Manage Grace").await;
    tour.browser.element(".part").await;
    tour.look("member").await;
    tour.browser.press("Remove member").await;
    tour.browser.element("[name=confirm]").await;
    tour.look("remove member").await;
    tour.press_unvalidated("Remove member").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("remove member unconfirmed").await;
    tour.click("[name=confirm]").await;
    tour.browser.press("Remove member").await;
    tour.browser.element("[data-notice]").await;
    tour.look("member removed").await;
    tour.browser.press("Manage").await;
    tour.browser.press("Make member").await;
    tour.browser.element("#role-error").await;
    tour.look("the last owner steps down").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_from_signing_in_to_signing_out() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.go_and_look("sign in", "/sign-in").await;
    tour.browser.fill("username", "ada").await;
    tour.browser.fill("password", "not the password").await;
    tour.browser.press("Sign in").await;
    tour.browser.element("[role=alert]").await;
    tour.look("sign in with an error").await;
    tour.sign_in().await;
    tour.click(".account summary").await;
    tour.browser.element(".account .menu-panel").await;
    tour.look("account menu").await;
    tour.browser.press("Sign out").await;
    tour.browser.element("[role=status]").await;
    tour.look("signed out").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_the_docs_page_while_an_operation_is_tried() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.browser.go_to(&tour.url("/docs")).await;
    let open_all = "document.querySelectorAll('details').forEach(details => details.open = true)";
    tour.browser
        .driver
        .execute(open_all, vec![])
        .await
        .expect("all is open");
    tour.look("API reference unfolded").await;
    tour.browser.fill("key", "kwp_wrong").await;
    tour.click("#getUser form button").await;
    tour.browser.element("#getUser .outcome > .failure").await;
    tour.look("API reference with an answer").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_the_page_of_any_problem() {
    let keyward = Keyward::start().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.go_and_look("unknown problem", "/problems/no_such_problem")
        .await;
    let links = tour
        .browser
        .driver
        .find_all(By::Css("a[href^='/problems/']"))
        .await;
    let mut problems = Vec::new();
    for link in links.expect("links") {
        problems.extend(link.attr("href").await.expect("an address"));
    }
    assert!(problems.len() > 10, "{problems:?}");
    for problem in problems {
        tour.go_and_look(&problem, &problem).await;
    }
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_another_leads_to_and_nobody_looks_at_is_noticed() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.browser.go_to(&tour.url("/sign-in")).await;
    let lead_on = "document.querySelector('main').innerHTML += '<a href=\"/organizations/engines/settings/pets\">Pets</a>'";
    tour.browser
        .driver
        .execute(lead_on, vec![])
        .await
        .expect("a link");
    tour.look("sign in").await;
    assert_eq!(tour.overlooked(), ["/organizations/engines/settings/pets"]);
    tour.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_faults_of_either_theme_and_either_width() {
    let keyward = Keyward::start_set_up().await;
    let tour = Tour::begin(&keyward).await;
    // In the page's own style sheet, because its policy forbids any other.
    let spoil = "document.styleSheets[0].insertRule(arguments[0], document.styleSheets[0].cssRules.length)";
    for (media, theme, width) in [
        ("(prefers-color-scheme: light)", THEMES[0], WIDTHS[0]),
        ("(prefers-color-scheme: dark)", THEMES[1], WIDTHS[0]),
        ("(width <= 400px)", THEMES[0], WIDTHS[1]),
    ] {
        tour.browser.go_to(&tour.url("/sign-in")).await;
        let rule =
            format!("@media {media} {{ h1 {{ color: #888 !important; background: #777 !important; }} }}");
        let spoiled = tour.browser.driver.execute(spoil, vec![json!(rule)]).await;
        spoiled.expect("a worse style");
        let faults = tour.faults(theme, width).await;
        assert!(faults.contains("color-contrast"), "{media}: {faults}");
    }
    tour.browser
        .driver
        .execute("document.title = ''", vec![])
        .await
        .expect("no title");
    let faults = tour.faults(THEMES[0], WIDTHS[0]).await;
    assert!(faults.contains("document-title"), "{faults}");
    tour.browser.close().await;
}
