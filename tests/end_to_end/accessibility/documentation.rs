//! The pages for those who write programs.

use thirtyfour::By;

use super::tour::Tour;
use keyward_tests::keyward::Keyward;

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_docs_while_trying_an_operation() {
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
    tour.browser.element("#getUser .outcome .failure").await;
    tour.look("API reference with an answer").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_any_problem_page() {
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
