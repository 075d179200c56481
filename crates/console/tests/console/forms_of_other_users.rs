//! Forms that stay open while another user signs in in a second tab of the same browser.

use keyward_domain::membership::Role;

use crate::browser::Browser;
use crate::running::{NEW, Running};
use crate::storage_failures::Scene;

pub(crate) const LEAVE: &str = "/organizations/acme/settings/general/leave";

/// A browser with the session of one user and a page of another one.
fn taken_over(page_of: &Browser, by: &Browser) -> Browser {
    let browser = page_of.second_tab();
    browser.set_cookie(by.cookie());
    browser
}

#[tokio::test]
async fn leave_form_of_another_user_is_refused_without_leaving() {
    let (running, ada) = Running::with_ada().await;
    for username in ["mark", "mary"] {
        let (organization, role) = (&ada.organization, Role::Member);
        running.installation.member(organization, username, role);
    }
    let browser = running.signed_in("mark").await;
    assert_eq!(browser.get(LEAVE).await.status, 200);
    let mary = running.signed_in("mary").await;
    let answer = taken_over(&browser, &mary)
        .post(LEAVE, &[("confirm", "yes")])
        .await;
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(mary.get(LEAVE).await.status, 200, "she is still a member");
}

#[tokio::test]
async fn form_of_another_user_is_refused_without_change() {
    let scene = Scene::new(|_| ()).await;
    let acme = &scene.ada.organization;
    scene.running.installation.member(acme, "mary", Role::Owner);
    let mary = scene.running.signed_in("mary").await;
    let forms = scene.forms().await;
    let before = scene.running.installation.store.events();
    for (username, other) in [("mary", &mary), ("dave", &scene.outsider)] {
        for form in forms
            .iter()
            .filter(|form| !["/sign-in", "/join"].contains(&&*form.path))
        {
            let answer = form.send_from(&taken_over(form.sender, other)).await;
            let (path, text) = (&form.path, answer.text());
            assert_eq!(answer.status, 409, "{path}: {text}");
            assert!(
                text.contains("This form was opened by another user"),
                "{path}: {text}"
            );
            assert!(text.contains("Nothing was changed."), "{path}: {text}");
            assert!(
                text.contains(&format!("now signed in as {username}")),
                "{path}: {text}"
            );
            for whose in ["ada", "grace", "heidi"] {
                assert!(!answer.shows(whose), "{path}: {text}");
            }
            assert!(answer.shows("href=\"/\"") && answer.shows(answer.header("x-request-id")));
        }
    }
    assert_eq!(scene.running.installation.store.events(), before);
}

#[tokio::test]
async fn form_without_its_user_is_refused_without_change() {
    let scene = Scene::new(|_| ()).await;
    let forms = scene.forms().await;
    let before = scene.running.installation.store.events();
    for form in forms
        .iter()
        .filter(|form| !["/sign-in", "/join"].contains(&&*form.path))
    {
        let browser = scene.running.visitor();
        browser.set_cookie(form.sender.cookie());
        let answer = form.send_from(&browser).await;
        assert_eq!(answer.status, 400, "{}: {}", form.path, answer.text());
        assert!(answer.shows("This form could not be read"), "{}", form.path);
    }
    assert_eq!(scene.running.installation.store.events(), before);
}

#[tokio::test]
async fn open_form_of_same_user_after_new_session_is_accepted() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let page = browser.get(NEW).await;
    browser.set_cookie(running.signed_in("ada").await.cookie());
    let idempotency_key = page.field("idempotency_key");
    let fields = [
        ("idempotency_key", idempotency_key),
        ("name", "Deploy"),
        ("description", ""),
    ];
    let answer = browser.post(NEW, &fields).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!answer.tokens().is_empty());
}
