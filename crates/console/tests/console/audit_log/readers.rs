//! Access to the log, and secrets that it never shows.

use chrono::TimeDelta;
use keyward_console::Console;
use keyward_domain::clock::Clock;
use keyward_domain::membership::Role;
use keyward_domain::testing::TestInstallation;

use super::{CSV, JSON_LINES, LOG};
use crate::browser::Answer;
use crate::running::Running;

#[tokio::test]
async fn audit_log_is_not_found_for_non_owners() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    installation.member(&ada.organization, "grace", Role::Member);
    let other = installation.organization("Other");
    installation.member(&other, "bob", Role::Owner);
    for path in [LOG, CSV, JSON_LINES] {
        assert_eq!(
            running.signed_in("ada").await.get(path).await.status,
            200,
            "{path}"
        );
        for username in ["grace", "bob"] {
            let browser = running.signed_in(username).await;
            let answer = browser.get(path).await;
            assert_eq!(answer.status, 404, "{username} {path}");
            let nothing = browser.get("/organizations/nowhere/settings/general").await;
            let id = |answer: &Answer| answer.body.replace(answer.header("x-request-id"), "");
            assert_eq!(id(&answer), id(&nothing));
        }
        let answer = running.visitor().get(path).await;
        assert_eq!(answer.status, 303, "{path}");
    }
    let (owner, member) = (running.signed_in("ada").await, running.signed_in("grace").await);
    let general = "/organizations/acme/settings/general";
    assert!(owner.get(general).await.shows(LOG));
    assert!(!member.get(general).await.shows(LOG));
}

#[tokio::test]
async fn former_owner_cannot_read_the_log() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    assert_eq!(browser.get(CSV).await.status, 200);
    let now = running.installation.builder.clock.now();
    running.installation.store.end_membership(ada.membership.id, now);
    for path in [LOG, CSV, JSON_LINES] {
        assert_eq!(browser.get(path).await.status, 404);
    }
}

#[tokio::test]
async fn audit_log_shows_limited_retention_period_to_owners() {
    for (kept_for, sentence) in [
        (None, None),
        (Some(TimeDelta::days(730)), Some("Events are kept for 730 days.")),
    ] {
        let change = |console: &mut Console| console.audit_events_kept_for = kept_for;
        let running = Running::with(TestInstallation::new(), None, change).await;
        let acme = running.installation.organization("Acme");
        running.installation.member(&acme, "ada", Role::Owner);
        let page = running.signed_in("ada").await.get(LOG).await;
        assert_eq!(page.status, 200);
        let told = page.text();
        assert_eq!(told.contains("are kept for"), sentence.is_some());
        assert!(told.contains(sentence.unwrap_or_default()), "{told}");
    }
}

#[tokio::test]
async fn audit_log_contains_no_secret() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let issued = installation.issue(&ada.as_holder(), "Deploy").await;
    let browser = running.signed_in("ada").await;
    for path in [LOG, CSV, JSON_LINES] {
        let answer = browser.get(path).await;
        assert!(answer.tokens().is_empty(), "{path}");
        let cookie = browser.cookie().unwrap();
        let (_, secret) = cookie.split_once('=').unwrap();
        assert!(
            !answer.shows(issued.token.expose()) && !answer.shows(secret),
            "{path}"
        );
    }
}
