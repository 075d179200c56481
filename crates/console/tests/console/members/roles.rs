//! Changing roles.

use super::{MEMBERS, ada_and_grace, path, role_form, role_path};

#[tokio::test]
async fn role_change_page_explains_the_role_and_requires_confirmation() {
    let (running, browser, ada, grace) = ada_and_grace().await;
    assert!(
        browser
            .get(&path(&grace))
            .await
            .shows(&format!("href=\"{}\"", role_path(&grace)))
    );
    let page = browser.get(&role_path(&grace)).await;
    assert_eq!((page.status, page.field("role")), (200, "owner"));
    assert!(
        page.text()
            .contains("will be able to see and revoke everyone’s keys in Acme"),
        "{}",
        page.text()
    );
    assert!(
        page.text().contains("including you") && page.shows(&format!("href=\"{}\">Cancel", path(&grace)))
    );
    let events = running.installation.store.events().len();
    let unticked = browser.post(&role_path(&grace), &[("role", "owner")]).await;
    assert_eq!(unticked.status, 422);
    assert!(
        unticked
            .text()
            .contains("I understand that an owner can revoke everyone’s keys")
    );
    assert!(
        unticked
            .text()
            .contains("Check the box to change the role. Nothing was changed.")
    );
    assert_eq!(running.installation.store.events().len(), events);

    browser.post(&role_path(&grace), &role_form("owner")).await;
    let page = browser.get(&role_path(&grace)).await;
    assert!(page.text().contains("Make “grace” a member?"), "{}", page.text());
    assert!(page.text().contains("I understand that they will no longer"));
    let own = browser.get(&role_path(&ada)).await;
    assert!(
        own.text()
            .contains("Only another owner can make you an owner again."),
        "{}",
        own.text()
    );
}

#[tokio::test]
async fn role_change_takes_effect_immediately_in_both_directions() {
    let (running, browser, _, grace) = ada_and_grace().await;
    let member = running.signed_in("grace").await;
    for (role, said, status) in [
        ("owner", "is now an owner", 200),
        ("member", "is now a member", 404),
    ] {
        let answer = browser.post(&role_path(&grace), &role_form(role)).await;
        let page = browser.follow(&answer).await;
        assert!(page.text().contains(said), "{}", page.text());
        assert_eq!(member.get(MEMBERS).await.status, status);
    }
    let events = running.installation.store.events().len();
    browser.post(&role_path(&grace), &role_form("member")).await;
    assert_eq!(
        running.installation.store.events().len(),
        events,
        "nothing changed"
    );
    assert_eq!(
        browser.post(&role_path(&grace), &role_form("king")).await.status,
        400
    );
}

#[tokio::test]
async fn owner_steps_down_only_while_another_owner_remains() {
    let (running, browser, ada, grace) = ada_and_grace().await;
    let hers = format!("{MEMBERS}/{}", ada.membership.id);
    let beforehand = browser.get(&hers).await;
    assert!(
        beforehand
            .text()
            .contains("You are the only permanent owner, and an organization needs one.")
    );
    assert!(!beforehand.shows("Make member") && !beforehand.shows("Leave organization"));
    let refused = browser.post(&role_path(&ada), &role_form("member")).await;
    assert_eq!(refused.status, 409);
    assert_eq!(browser.get(&role_path(&ada)).await.location(), hers);
    assert!(refused.shows("role=\"alert\"") && refused.text().contains("Nothing was changed."));
    browser.post(&role_path(&grace), &role_form("owner")).await;
    assert!(browser.get(&hers).await.shows("Make member"));
    let answer = browser.post(&role_path(&ada), &role_form("member")).await;
    let general = browser.follow(&answer).await;
    assert!(general.text().contains("You are no longer an owner."));
    assert_eq!(browser.get(MEMBERS).await.status, 404);
    assert_eq!(running.signed_in("grace").await.get(MEMBERS).await.status, 200);
}
