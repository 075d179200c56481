//! Signing in and out, and one's own account.

use super::tour::Tour;
use keyward_tests::keyward::Keyward;

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_during_account_changes() {
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
    tour.browser.press("Sign out all other browsers").await;
    tour.browser.element("[data-notice]").await;
    tour.look("all other browsers are signed out").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_from_sign_in_to_sign_out() {
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
