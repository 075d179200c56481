//! A browser on its way through the pages, with axe-core looking at each.

use std::collections::BTreeSet;

use serde_json::json;

use super::pages;
use crate::browser::Browser;
use crate::others::packages;
use keyward_tests::api::Api;
use keyward_tests::console::token_in;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};

pub(super) const THEMES: [&str; 2] = ["light", "dark"];
pub(super) const WIDTHS: [u32; 2] = [1280, 360];

/// Other targets of links: pages that are checked after an action, and files.
const LOOKED_AT_ELSEWHERE: &[&str] = &[
    "/",
    "/sign-in",
    "/problems/{code}",
    "/organizations/engines/settings/api-keys/{id}/edit",
    "/organizations/engines/settings/api-keys/{id}/revoke",
    "/organizations/engines/settings/api-keys/{id}/rotate",
    "/organizations/engines/settings/api-keys/all/{id}",
    "/organizations/engines/settings/members/{id}",
    "/organizations/engines/settings/members/{id}/remove",
    "/organizations/engines/settings/members/{id}/role",
    "/organizations/engines/settings/members/{id}/expiration",
    "/organizations/engines/settings/general/key-life/apply",
    // The same page of another organization.
    "/organizations/observatory/settings/api-keys",
    // Downloads.
    "/openapi.json",
    "/organizations/engines/settings/audit-log/export.csv",
    "/organizations/engines/settings/audit-log/export.jsonl",
];

/// A way through the pages.
pub(super) struct Tour {
    pub(super) browser: Browser,
    axe: String,
    base_url: String,
    seen: BTreeSet<String>,
    led_to: BTreeSet<String>,
}

impl Tour {
    pub(super) async fn begin(keyward: &Keyward) -> Self {
        let axe = packages("judges/npm").join("node_modules/axe-core/axe.min.js");
        Self {
            browser: Browser::open().await,
            axe: std::fs::read_to_string(axe).expect("axe-core"),
            base_url: keyward.base_url().to_owned(),
            seen: BTreeSet::new(),
            led_to: BTreeSet::new(),
        }
    }

    pub(super) async fn sign_in(&self) {
        self.browser.go_to(&self.url("/sign-in")).await;
        self.browser.fill("username", "ada").await;
        self.browser.fill("password", OWNER_PASSWORD).await;
        self.browser.press("Sign in").await;
        self.browser.element(".empty").await;
    }

    /// A client that uses the new key.
    pub(super) async fn sign_in_and_create_first_key(&self) -> Api {
        self.sign_in().await;
        self.create_first_key().await
    }

    /// The same, for the signed-in user.
    pub(super) async fn create_first_key(&self) -> Api {
        self.browser
            .go_to(&self.url("/organizations/engines/settings/api-keys/new"))
            .await;
        self.browser.fill("name", "first").await;
        self.browser.press("Create API key").await;
        self.browser.element("#token").await;
        let token = token_in(&self.browser.source().await).expect("a token on the page");
        Api::anonymous(&self.base_url).with_token(&token)
    }

    pub(super) async fn click(&self, selector: &str) {
        self.browser
            .element(selector)
            .await
            .click()
            .await
            .expect("a click");
    }

    pub(super) async fn sign_out(&self) {
        self.click(".account summary").await;
        self.browser.press("Sign out").await;
        self.browser.element("[name=password]").await;
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    pub(super) async fn go_and_look(&mut self, page: &str, path: &str) {
        self.browser.go_to(&self.url(path)).await;
        // The secret of a link leaves the address.
        let (shown, _) = path.split_once("?token=").unwrap_or((path, ""));
        assert_eq!(
            self.browser.address().await,
            self.url(shown),
            "“{page}” is elsewhere"
        );
        self.look(page).await;
    }

    /// Judges the page as it is now, in both themes and widths.
    pub(super) async fn look(&mut self, page: &str) {
        for theme in THEMES {
            for width in WIDTHS {
                let faults = self.faults(theme, width).await;
                assert!(faults.is_empty(), "“{page}”, {theme}, {width} px wide:\n{faults}");
            }
        }
        let links = "return [location.pathname, ...[...document.links].filter(link => link.origin === location.origin) \
             .map(link => link.pathname)]";
        let links = self.browser.driver.execute(links, vec![]).await.expect("links");
        let links: Vec<String> = links.convert().expect("paths");
        let mut links = links.iter().map(|path| page_of(path));
        self.seen.extend(links.next());
        self.led_to.extend(links);
    }

    /// The violations that axe-core finds, one per line.
    pub(super) async fn faults(&self, theme: &str, width: u32) -> String {
        let features = json!([
            { "name": "prefers-color-scheme", "value": theme },
            // A colour on its way to another is neither.
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        let screen = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        for (command, arguments) in [
            ("Emulation.setEmulatedMedia", json!({ "features": features })),
            ("Emulation.setDeviceMetricsOverride", screen),
        ] {
            let emulated = self.browser.driver.cdp().send_raw(command, arguments).await;
            emulated.expect("an emulated screen");
        }
        let driver = &self.browser.driver;
        let dark = driver
            .execute(
                "return matchMedia('(prefers-color-scheme: dark)').matches",
                vec![],
            )
            .await;
        assert_eq!(dark.expect("a theme").json(), &json!(theme == "dark"));
        // It stays in the page while theme and width change.
        let is_loaded = driver.execute("return typeof axe === 'object'", vec![]).await;
        if is_loaded.expect("an answer").json() != &json!(true) {
            let loading = driver.execute(self.axe.as_str(), vec![]).await;
            loading.expect("axe-core is loaded");
        }
        let found = driver
            .execute_async(JUDGE, vec![])
            .await
            .expect("axe-core judges");
        let found: Vec<String> = found.convert().expect("findings");
        found.join("\n")
    }

    /// Fails if a page linked to one that is not checked.
    pub(super) async fn end(self) {
        assert_eq!(
            self.overlooked(),
            Vec::<&str>::new(),
            "PAGES needs a line for each"
        );
        self.browser.close().await;
    }

    pub(super) fn overlooked(&self) -> Vec<&str> {
        let looked_at = |page: &str| {
            self.seen.contains(page)
                || LOOKED_AT_ELSEWHERE.contains(&page)
                || pages().any(|(_, path)| path.split('?').next() == Some(page))
        };
        let led_to = self.led_to.iter().map(String::as_str);
        led_to.filter(|page| !looked_at(page)).collect()
    }

    /// Presses a button of a form that the browser would not send.
    pub(super) async fn press_unvalidated(&self, words: &str) {
        let unvalidated = "for (const form of document.forms) form.noValidate = true";
        self.browser
            .driver
            .execute(unvalidated, vec![])
            .await
            .expect("forms");
        self.browser.press(words).await;
    }
}

/// All rules of axe-core but the experimental ones, and the size of targets.
const JUDGE: &str = "const done = arguments[arguments.length - 1];
    const options = { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } };
    axe.run(options).then(
        ({ violations }) => done(violations.flatMap(({ id, help, nodes }) =>
            nodes.map(({ html, failureSummary }) => `${id}: ${help}\\n  ${html}\\n  ${failureSummary}`))),
        error => done([`axe-core failed: ${error}`]));";

/// The path, with the same name for every key and every problem.
fn page_of(path: &str) -> String {
    if path.starts_with("/problems/") {
        return "/problems/{code}".to_owned();
    }
    let named = |part: &str| part.len() == 36 && part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let parts: Vec<&str> = path
        .split('/')
        .map(|part| if named(part) { "{id}" } else { part })
        .collect();
    parts.join("/")
}
