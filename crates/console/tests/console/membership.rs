use keyward_domain::clock::Clock;
use keyward_domain::membership::Role;

use crate::running::{LIST, NEW, Running};

#[tokio::test]
async fn foreign_organization_looks_like_an_unknown_one() {
    let (running, _) = Running::with_ada().await;
    let other = running.installation.organization("Other");
    running.installation.member(&other, "grace", Role::Owner);
    let browser = running.signed_in("ada").await;
    let mut pages = Vec::new();
    for slug in ["other", "nowhere", "NOT-A-SLUG", "..%2f"] {
        for page in ["api-keys", "api-keys/new", "general"] {
            let answer = browser
                .get(&format!("/organizations/{slug}/settings/{page}"))
                .await;
            assert_eq!(answer.status, 404, "{slug} {page}");
            pages.push(answer.body.replace(answer.header("x-request-id"), ""));
        }
        for page in ["", "/settings"] {
            let answer = browser.get(&format!("/organizations/{slug}{page}")).await;
            assert_eq!(answer.status, 404, "{slug} {page}");
            pages.push(answer.body.replace(answer.header("x-request-id"), ""));
        }
    }
    assert!(pages.iter().all(|page| *page == pages[0]));
}

#[tokio::test]
async fn organization_url_without_page_redirects_to_keys() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for path in ["/organizations/acme", "/organizations/acme/settings"] {
        let answer = browser.get(path).await;
        assert_eq!((answer.status, answer.location()), (303, LIST), "{path}");
        let signed_out = running.visitor().get(path).await;
        assert!(signed_out.location().starts_with("/sign-in?next="), "{path}");
    }
}

#[tokio::test]
async fn ended_membership_immediately_closes_only_its_organizations_pages() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let other = installation.organization("Other");
    let second = installation.builder.membership(&other, &ada.user, Role::Member);
    installation.store.put_membership(second);
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let now = installation.builder.clock.now();
    installation.store.end_membership(ada.membership.id, now);
    let gone = browser.get(LIST).await;
    assert_eq!(gone.status, 404);
    assert!(gone.text().contains("you don’t have access"), "{}", gone.text());
    assert!(
        gone.text().contains("Your organizations Other") && !gone.shows("Acme"),
        "{}",
        gone.text()
    );
    assert!(gone.shows("href=\"/organizations/other/settings/api-keys\""));
    assert!(gone.shows("Account menu") && gone.shows("action=\"/sign-out\""));
    assert!(!running.visitor().get("/nowhere").await.shows("Account menu"));
    let fields = [
        ("idempotency_key", idempotency_key.as_str()),
        ("name", "Deploy"),
        ("description", ""),
    ];
    assert_eq!(browser.post(NEW, &fields).await.status, 404);
    let list = browser.get("/organizations/other/settings/api-keys").await;
    assert_eq!(list.status, 200);
    assert_eq!(
        browser.get("/").await.location(),
        "/organizations/other/settings/api-keys"
    );
}

#[tokio::test]
async fn user_without_organization_sees_explanation_and_can_sign_out() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let now = running.installation.builder.clock.now();
    running.installation.store.end_membership(ada.membership.id, now);
    let home = browser.get("/").await;
    assert_eq!(home.status, 200);
    assert!(home.shows("You are not a member of an organization") && home.shows("action=\"/sign-out\""));
}

#[tokio::test]
async fn user_in_several_organizations_can_switch() {
    let (running, ada) = Running::with_ada().await;
    let other = running.installation.organization("Other");
    let second = running
        .installation
        .builder
        .membership(&other, &ada.user, Role::Member);
    let browser = running.signed_in("ada").await;
    assert!(!browser.get(LIST).await.shows("Switch organization"));
    running.installation.store.put_membership(second);
    let list = browser.get(LIST).await;
    assert!(list.shows("Switch organization"));
    assert!(list.shows("href=\"/organizations/other/settings/api-keys\""));
}
