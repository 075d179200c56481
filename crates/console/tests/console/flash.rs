//! A flash message is shown once, by the page after a form, and cannot be forged by a link.

use keyward_domain::membership::Role;
use keyward_domain::testing::TestInstallation;

use crate::projects::{PROJECTS, project};
use crate::running::{LIST, Running};

const SETTINGS: &str = "/organizations/acme/settings";

#[tokio::test]
async fn flash_message_appears_on_the_next_page_only() {
    let running = Running::behind_https().await;
    let browser = running.signed_in("ada").await;
    let answer = browser.post("/account/sessions/end-others", &[]).await;
    assert_eq!(
        answer.header("set-cookie"),
        "__Host-flash=other-sessions-ended; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60"
    );
    let page = browser.follow(&answer).await;
    assert!(page.shows("data-notice"), "{}", page.text());
    assert_eq!(
        page.header("set-cookie"),
        "__Host-flash=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
    );
    let again = browser.get("/account").await;
    assert!(!again.shows("data-notice"));
    assert_eq!(again.header("set-cookie"), "");
}

#[tokio::test]
async fn flash_message_is_kept_while_another_form_is_answered() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    browser.post("/account/sessions/end-others", &[]).await;
    browser
        .post(
            "/account/password",
            &[("current_password", ""), ("new_password", "")],
        )
        .await;
    assert!(browser.get("/account").await.shows("data-notice"));
}

#[tokio::test]
async fn forged_url_shows_no_flash_message() {
    let (running, ada) = Running::with_ada().await;
    let robots = project(&running, &ada, "Robots").await;
    let key = running
        .installation
        .issue(&ada.as_holder(), "Deploy")
        .await
        .key
        .id;
    let (member, robots) = (ada.membership.id, format!("{PROJECTS}/{}", robots.id));
    let browser = running.signed_in("ada").await;
    for path in [
        "/account?notice=password-changed",
        "/account?notice=session-ended",
        "/account?flash=password-changed",
        &format!("{SETTINGS}/general?role=changed&new-keys=chosen"),
        &format!("{SETTINGS}/members?removed={member}"),
        &format!("{SETTINGS}/members/{member}?role=changed"),
        &format!("{SETTINGS}/members/invitations?notice=used"),
        &format!("{robots}?notice=renamed"),
        &format!("{robots}?notice=created&added={member}"),
        &format!("{robots}/add-members?added={member}"),
        &format!("{LIST}?joined=yes"),
        &format!("{LIST}?edited={key}"),
        &format!("{LIST}?revoked={key}&others=3"),
        &format!("{LIST}?already-created={key}"),
        &format!("{LIST}?search=x&left-out=token"),
        &format!("{LIST}/all?notice=nothing-selected"),
        &format!("{LIST}/all?revoked={key}"),
    ] {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.shows("data-notice"), "{path}");
    }
    assert_eq!(browser.get("/?left=elsewhere").await.location(), LIST);
    for notice in ["signed-out", "joined", "set-up", "form-not-sent"] {
        let page = running.visitor().get(&format!("/sign-in?notice={notice}")).await;
        assert!(!page.shows("role=\"status\""), "{notice}");
    }
}

/// On a local installation, other programs on the same host can set cookies.
#[tokio::test]
async fn forged_flash_cookie_shows_no_texts_or_names() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let key = running
        .installation
        .issue(&ada.as_holder(), "Secret plan")
        .await
        .key
        .id;
    let browser = running.signed_in("grace").await;
    let session = browser.cookie().unwrap();
    for flash in [
        "Your+password+expired".to_owned(),
        "key-revoked.x.0".to_owned(),
        format!("key-revoked.{}.0", key.as_uuid().simple()),
        format!("keys-revoked.{}.0", key.as_uuid().simple()),
        format!("member-removed.{}.0", grace.membership.id.as_uuid().simple()),
        "password-changed".to_owned(),
    ] {
        browser.set_cookie(Some(format!("{session}; flash={flash}")));
        let page = browser.get(LIST).await;
        assert!(
            !page.shows("data-notice") && !page.shows("Secret plan"),
            "{flash}"
        );
    }
}

/// One cookie holds one message: the later one, which the first page that says it takes away.
#[tokio::test]
async fn two_tabs_share_the_latest_flash_message() {
    let (running, ada) = Running::with_ada().await;
    let robots = project(&running, &ada, "Robots").await;
    let browser = running.signed_in("ada").await;
    let renamed = browser
        .post(&format!("{PROJECTS}/{}", robots.id), &[("name", "Rockets")])
        .await;
    let ended = browser.post("/account/sessions/end-others", &[]).await;

    let project = browser.follow(&renamed).await;
    assert!(project.shows("Rockets") && !project.shows("data-notice"));
    let account = browser.follow(&ended).await;
    assert!(!account.shows("data-notice"), "taken away by the other tab");

    let ended = browser.post("/account/sessions/end-others", &[]).await;
    let account = browser.follow(&ended).await;
    assert!(account.text().contains("All other browsers were signed out"));
    let renamed = browser
        .post(&format!("{PROJECTS}/{}", robots.id), &[("name", "Robots")])
        .await;
    assert!(
        browser
            .follow(&renamed)
            .await
            .text()
            .contains("renamed to Robots")
    );
}

#[tokio::test]
async fn removed_token_is_reported_also_to_signed_out_visitors() {
    let (running, _) = Running::with_ada().await;
    let token = "kwp_000000000000000000000000000000002wjyrI";
    let ended = running.signed_in("ada").await;
    ended.second_tab().post("/sign-out", &[]).await;
    for browser in [running.visitor(), ended] {
        let list = browser.get(&format!("{LIST}?search={token}")).await;
        let sign_in = browser.follow(&browser.follow(&list).await).await;
        assert!(sign_in.shows("name=\"password\""));
        assert!(
            sign_in.text().contains("You searched for a full token"),
            "{}",
            sign_in.text()
        );
    }
}

#[tokio::test]
async fn removed_token_is_reported_alike_on_every_list() {
    let (running, _) = Running::with_ada().await;
    let token = "kwp_000000000000000000000000000000002wjyrI";
    let browser = running.signed_in("ada").await;
    for list in [
        format!("{LIST}?search="),
        format!("{LIST}/all?search="),
        format!("{SETTINGS}/audit-log?what="),
    ] {
        let answer = browser.get(&format!("{list}{token}")).await;
        let page = browser.follow(&answer).await;
        assert!(page.shows("class=\"notice info\""), "{list}: {}", page.body);
        assert_eq!(
            page.body.matches("You searched for a full token").count(),
            1,
            "{list}"
        );
    }
}

#[tokio::test]
async fn each_form_shows_its_own_flash_message() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let sent = browser.post("/account/sessions/end-others", &[]).await;
    assert!(browser.follow(&sent).await.shows("data-notice"));
    let fields = [
        ("current_password", TestInstallation::PASSWORD),
        ("new_password", "seven lamps burn low"),
    ];
    let changed = browser.post("/account/password", &fields).await;
    assert!(
        browser
            .follow(&changed)
            .await
            .text()
            .contains("Your password was changed")
    );
}
