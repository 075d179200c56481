//! The search for faults itself can fail.

use serde_json::json;

use super::tour::{THEMES, Tour, WIDTHS};
use keyward_tests::keyward::Keyward;

#[tokio::test(flavor = "multi_thread")]
async fn linked_page_that_no_tour_visits_is_detected() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.browser.go_to(&tour.url("/sign-in")).await;
    let add_link = "document.querySelector('main').innerHTML += '<a href=\"/organizations/engines/settings/pets\">Pets</a>'";
    tour.browser
        .driver
        .execute(add_link, vec![])
        .await
        .expect("a link");
    tour.look("sign in").await;
    assert_eq!(tour.overlooked(), ["/organizations/engines/settings/pets"]);
    tour.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_faults_in_either_theme_and_width() {
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
