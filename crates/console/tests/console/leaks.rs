//! Notices about keys that were revoked because their tokens leaked, for holders and owners.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::audit::RequestSource;
use keyward_domain::keys::IssuedKey;
use keyward_domain::leaked_keys::{LeakedToken, Reported, RevokeLeakedKeys};
use keyward_domain::membership::Role;

use crate::running::{LIST, Running};

const ALL: &str = "/organizations/acme/settings/api-keys/all";

async fn report(running: &Running, key: &IssuedKey) {
    let installation = &running.installation;
    let store = Arc::new(installation.store.clone());
    let leaks = RevokeLeakedKeys::new(store.clone(), store, installation.builder.sources.clone());
    let source = RequestSource::default();
    let found = LeakedToken::parse(key.token.expose(), "https://example.com/gist", "", source);
    let reported = leaks.revoke(vec![found.expect("a token")]).await;
    assert!(matches!(reported[..], [Ok(Reported::Revoked)]), "{reported:?}");
}

#[tokio::test]
async fn leak_is_shown_beside_a_thousand_later_ones_of_another() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let [grace, mary] =
        ["grace", "mary"].map(|name| installation.member(&ada.organization, name, Role::Member));
    let leaked = installation.issue(&grace.as_holder(), "Deploy").await;
    report(&running, &leaked).await;
    for number in 0..1_001 {
        // So many may be created.
        installation.builder.clock.advance(TimeDelta::seconds(1));
        let other = installation
            .issue(&mary.as_holder(), &format!("key {number}"))
            .await;
        report(&running, &other).await;
    }
    let [owner, holder] = [running.signed_in("ada").await, running.signed_in("grace").await];
    let page = owner.get(ALL).await;
    assert!(page.shows("The tokens of more than 50 keys leaked."));
    let text = page.text();
    assert!(page.shows(leaked.key.hint.as_str()) && text.contains("of grace") && text.contains("of mary"));
    assert!(
        page.text()
            .contains("Not all are listed here: see the audit log.")
    );

    let log = owner
        .get("/organizations/acme/settings/audit-log?who=anonymous%3A&action=api_key.revoke")
        .await;
    assert!(page.shows("/audit-log?who=anonymous%3A&#38;action=api_key.revoke") && log.status == 200);
    assert!(log.text().contains("reported the API key"));

    let list = holder.get(LIST).await;
    assert!(list.shows("The token of a key leaked.") && list.shows(leaked.key.hint.as_str()));
    assert!(!list.text().contains("Not all are listed"));
    let list = running.signed_in("mary").await.get(LIST).await;
    assert!(list.shows("The tokens of more than 50 keys leaked."));
    assert!(
        list.text()
            .contains("Not all are listed here: see your revoked keys.")
    );
}

#[tokio::test]
async fn leak_is_shown_to_holder_and_owners_for_a_week() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let [grace, mary] =
        ["grace", "mary"].map(|name| installation.member(&ada.organization, name, Role::Member));
    let leaked = installation.issue(&grace.as_holder(), "Deploy").await;
    installation.issue(&mary.as_holder(), "Other").await;
    let [owner, holder, other] = [
        running.signed_in("ada").await,
        running.signed_in("grace").await,
        running.signed_in("mary").await,
    ];
    let told = "The token of a key leaked.";
    assert!(!holder.get(LIST).await.shows(told));
    report(&running, &leaked).await;

    for (browser, list) in [(&holder, LIST), (&owner, ALL)] {
        let page = browser.get(list).await;
        assert!(page.shows(told) && page.shows(leaked.key.hint.as_str()), "{list}");
        assert!(
            page.text().contains("Found at https://example.com/gist"),
            "{list}"
        );
        assert!(
            !browser.get(&format!("{list}?search=x")).await.shows(told),
            "{list}"
        );
    }
    assert!(owner.get(ALL).await.text().contains("of grace"));
    assert!(!other.get(LIST).await.shows(told), "another one's key");
    assert!(!owner.get(LIST).await.shows(told), "another one's key");
    let log = owner.get("/organizations/acme/settings/audit-log").await.text();
    let sentence = format!(
        "Someone not signed in reported the API key Deploy {} as leaked, and it was revoked",
        leaked.key.hint
    );
    assert!(log.contains(&sentence), "{log}");

    installation.builder.clock.advance(TimeDelta::days(8));
    let later = running.signed_in("grace").await;
    assert!(!later.get(LIST).await.shows(told));
}
