//! Pages on paper.

use thirtyfour::common::print::PrintParameters;

use crate::browser::Browser;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};

#[tokio::test(flavor = "multi_thread")]
async fn list_of_50_keys_prints_on_few_pages() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    for number in 2..=50 {
        let name = format!("Deploy pipeline of plant number {number}");
        api.create(&name, "Rolls out the fleet controller.").await;
    }
    let browser = Browser::open().await;
    browser.go_to(&format!("{}/sign-in", keyward.base_url())).await;
    browser.fill("username", "ada").await;
    browser.fill("password", OWNER_PASSWORD).await;
    browser.press("Sign in").await;
    browser.element("table").await;
    let keys_page = browser.address().await;
    browser.go_to(&format!("{keys_page}/all")).await;
    browser.element("tbody tr:nth-child(50)").await;
    let pdf = browser.driver.print_page(PrintParameters::default()).await;
    let pages = pages_of(&pdf.expect("a printed page"));
    assert!((1..=10).contains(&pages), "50 keys are printed on {pages} pages");
    browser.close().await;
}

/// Chromium writes the objects of pages without compression.
fn pages_of(pdf: &[u8]) -> usize {
    String::from_utf8_lossy(pdf)
        .match_indices("/Type /Page")
        .filter(|(at, text)| !pdf[at + text.len()..].starts_with(b"s"))
        .count()
}
