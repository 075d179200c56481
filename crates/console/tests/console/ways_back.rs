//! Back and Cancel lead to the list as it was, also without the script.

use chrono::TimeDelta;
use keyward_domain::membership::Role;

use crate::browser::Answer;
use crate::running::{LIST, Running};

const ALL: &str = "/organizations/acme/settings/api-keys/all";

/// How often a page leads to this URL.
fn links(page: &Answer, url: &str) -> usize {
    let href = format!("href=\"{}\"", url.replace('&', "&#38;"));
    page.body.matches(&href).count()
}

#[tokio::test]
async fn pages_of_an_own_key_lead_back_to_the_search() {
    let (running, ada) = Running::with_ada().await;
    let key = running
        .installation
        .issue(&ada.as_holder(), "Deploy")
        .await
        .key
        .id;
    let browser = running.signed_in("ada").await;
    let search = "?status=all&search=dep";
    let listed = format!("{LIST}{search}");
    let list = browser.get(&listed).await;
    for page in [
        "new",
        &format!("{key}/edit"),
        &format!("{key}/rotate"),
        &format!("{key}/revoke"),
    ] {
        let url = format!("{LIST}/{page}{search}");
        assert_eq!(links(&list, &url), 1, "{url}");
        let page = browser.get(&url).await;
        assert_eq!(links(&page, &listed), 2, "Back and Cancel of {url}");
    }
    let url = format!("{LIST}/{key}/edit{search}");
    let form = browser.get(&url).await;
    let fields = [
        ("version", form.field("version")),
        ("name", "Deployment"),
        ("description", ""),
    ];
    assert_eq!(browser.post(&url, &fields).await.location(), listed);
}

#[tokio::test]
async fn pages_of_organization_keys_lead_back_to_the_filter() {
    let (running, ada) = Running::with_ada().await;
    let bob = running
        .installation
        .member(&ada.organization, "bob", Role::Member);
    let key = running.installation.issue(&bob.as_holder(), "his").await.key.id;
    let holder = bob.membership.id;
    // Only a key from before now is unused for 0 days.
    running.installation.builder.clock.advance(TimeDelta::minutes(1));
    let browser = running.signed_in("ada").await;
    let filter = format!("?status=all&unused=0&holder={holder}&search=his");
    let listed = format!("{ALL}{filter}");
    let list = browser.get(&listed).await;
    let key_page = format!("{ALL}/{key}{filter}");
    let of_holder = format!("{ALL}/revoke{filter}");
    assert_eq!((links(&list, &key_page), links(&list, &of_holder)), (1, 1));
    assert_eq!(list.field("list_holder"), holder.to_string());

    let page = browser.get(&key_page).await;
    assert_eq!(links(&page, &listed), 1, "Back");
    let of_key = format!("{ALL}/revoke?status=all&unused=0&list_holder={holder}&search=his&key-{key}=on");
    assert_eq!(links(&page, &of_key), 1, "Revoke…");
    for url in [of_holder, of_key] {
        let page = browser.get(&url).await;
        assert!(page.text().contains("of bob?"), "{}", page.text());
        assert_eq!(links(&page, &listed), 2, "Back and Cancel of {url}");
    }
    let key = format!("key-{key}");
    let action = format!("{ALL}/revoke?status=all&unused=0&list_holder={holder}&search=his");
    let refused = browser.post(&action, &[(&key, "on"), ("note", "")]).await;
    assert_eq!((refused.status, links(&refused, &listed)), (422, 2));
    let nothing_selected = browser.get(&action).await;
    assert_eq!(nothing_selected.location(), listed);
}
