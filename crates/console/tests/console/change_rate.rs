//! Forms of a user who creates and edits keys too often.

use chrono::TimeDelta;
use keyward_domain::membership::{Member, Role};
use keyward_domain::rate::Rate;
use keyward_domain::testing::TestInstallation;

use crate::running::{LIST, NEW, Running};

const TOLD: &str = "You and your keys created or edited too many keys, so nothing was changed. Try again in 2 seconds. \
                    You can still revoke keys.";

/// Ada may make two changes at once, and one more every two seconds.
async fn running_with_ada() -> (Running, Member) {
    let mut installation = TestInstallation::new();
    installation.limits.changes = Rate::per_minute(30, 2);
    let running = Running::with(installation, None, |_| ()).await;
    let acme = running.installation.organization("Acme");
    let ada = running.installation.member(&acme, "ada", Role::Member);
    (running, ada)
}

#[tokio::test]
async fn rate_limited_key_form_succeeds_unchanged_after_the_wait() {
    let (running, ada) = running_with_ada().await;
    for name in ["First", "Second"] {
        running.installation.issue(&ada.as_holder(), name).await;
    }
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let fields = [
        ("idempotency_key", idempotency_key.as_str()),
        ("name", "Third"),
        ("description", "for the night"),
        ("manage_keys", "no"),
    ];
    let page = browser.post(NEW, &fields).await;
    assert_eq!((page.status, page.header("retry-after")), (429, "2"));
    assert!(page.text().contains(TOLD), "{}", page.text());
    // The script counts down from there.
    assert!(page.shows("data-wait=\"2\">in 2 seconds</span>"));
    assert_eq!(page.focused(), ["p role=\"alert\""]);
    assert!(page.shows("value=\"Third\"") && page.shows("for the night"));
    assert!(page.shows("value=\"no\" checked"));
    assert_eq!(page.field("idempotency_key"), idempotency_key);

    running.installation.builder.clock.advance(TimeDelta::seconds(2));
    let page = browser.post(NEW, &fields).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.tokens().len(), 2, "the token is shown");
}

#[tokio::test]
async fn rate_limited_edit_preserves_input() {
    let (running, ada) = running_with_ada().await;
    let issued = running.installation.issue(&ada.as_holder(), "First").await;
    running.installation.issue(&ada.as_holder(), "Second").await;
    let browser = running.signed_in("ada").await;
    let address = format!("{LIST}/{}/edit", issued.key.id);
    let version = browser.get(&address).await.field("version").to_owned();
    let fields = [
        ("name", "Renamed"),
        ("description", "typed"),
        ("version", version.as_str()),
    ];
    let page = browser.post(&address, &fields).await;
    assert_eq!((page.status, page.header("retry-after")), (429, "2"));
    assert!(page.text().contains(TOLD), "{}", page.text());
    assert_eq!(page.focused(), ["p role=\"alert\""]);
    assert!(page.shows("value=\"Renamed\"") && page.shows("typed"));

    running.installation.builder.clock.advance(TimeDelta::seconds(2));
    assert_eq!(browser.post(&address, &fields).await.status, 303);
}
