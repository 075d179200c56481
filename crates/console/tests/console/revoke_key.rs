use keyward_domain::api_key::ApiKey;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};

use crate::browser::Browser;
use crate::running::{LIST, Running};

fn revoke_path(key: &ApiKey) -> String {
    format!("{LIST}/{}/revoke", key.id)
}

async fn works(running: &Running, issued: &IssuedKey) -> bool {
    let authenticate = running.installation.authenticate();
    authenticate.caller(issued.token.expose(), None).await.is_ok()
}

/// A key, one made from it, and one made from that.
async fn key_tree(running: &Running, member: &Member) -> [IssuedKey; 3] {
    let installation = &running.installation;
    let parent = installation.issue(&member.as_holder(), "Parent").await;
    let holder = installation.caller(&parent).await.as_holder();
    let child = installation.issue(&holder, "Child").await;
    let holder = installation.caller(&child).await.as_holder();
    let grandchild = installation.issue(&holder, "Grandchild").await;
    [parent, child, grandchild]
}

async fn ada_with_key_tree() -> (Running, Browser, [IssuedKey; 3]) {
    let (running, ada) = Running::with_ada().await;
    let key_tree = key_tree(&running, &ada).await;
    let browser = running.signed_in("ada").await;
    (running, browser, key_tree)
}

#[tokio::test]
async fn revocation_page_names_key_consequences_and_valid_descendants() {
    let (_running, browser, [parent, child, grandchild]) = ada_with_key_tree().await;
    let page = browser.get(&revoke_path(&parent.key)).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("Revoke “Parent”?") && text.contains(parent.key.hint.as_str()));
    assert!(text.contains("will fail immediately") && text.contains("This cannot be undone."));
    assert!(text.contains("2 valid keys were created with this key"));
    assert!(text.contains(child.key.hint.as_str()) && text.contains(grandchild.key.hint.as_str()));
    let leaf = browser.get(&revoke_path(&grandchild.key)).await;
    assert!(!leaf.shows("created with this key"));
}

#[tokio::test]
async fn revoking_keeps_descendants_unless_requested() {
    let (running, browser, [parent, child, grandchild]) = ada_with_key_tree().await;
    let answer = browser
        .post(&revoke_path(&parent.key), &[("confirm", "yes")])
        .await;
    let list = browser.follow(&answer).await;
    assert!(
        list.text()
            .contains("Parent was revoked. Requests that use it now fail."),
        "{}",
        list.text()
    );
    assert!(
        list.shows("role=\"status\"") && !list.shows("badge off"),
        "the valid ones, as before"
    );
    assert!(!works(&running, &parent).await);
    assert!(works(&running, &child).await && works(&running, &grandchild).await);
}

#[tokio::test]
async fn revoking_includes_descendants_when_requested() {
    let (running, browser, key_tree) = ada_with_key_tree().await;
    let fields = [("descendants", "revoke"), ("confirm", "yes")];
    let answer = browser.post(&revoke_path(&key_tree[0].key), &fields).await;
    let list = browser.follow(&answer).await;
    assert!(
        list.text()
            .contains("Parent was revoked, and 2 keys created with it.")
    );
    for issued in &key_tree {
        assert!(!works(&running, issued).await, "{}", issued.key.name);
    }
}

#[tokio::test]
async fn descendants_of_a_revoked_key_can_be_revoked_together() {
    let (running, browser, [parent, child, grandchild]) = ada_with_key_tree().await;
    let path = revoke_path(&parent.key);
    browser.post(&path, &[("confirm", "yes")]).await;
    let page = browser.get(&path).await;
    assert!(page.shows("This key was revoked") && page.shows("2 valid keys were created with this key"));
    let fields = [("descendants", page.field("descendants")), ("confirm", "yes")];
    browser.post(&path, &fields).await;
    assert!(!works(&running, &child).await && !works(&running, &grandchild).await);
}

#[tokio::test]
async fn unconfirmed_revocation_revokes_nothing_and_preserves_the_choice() {
    let (running, browser, key_tree) = ada_with_key_tree().await;
    let path = revoke_path(&key_tree[0].key);
    let before = browser.get(&path).await;
    assert!(before.shows("value=\"yes\" required aria-invalid=\"false\">"));
    let page = browser.post(&path, &[("descendants", "revoke")]).await;
    assert_eq!(page.status, 422);
    assert!(page.shows("aria-invalid=\"true\" aria-describedby=\"confirm-error\""));
    assert!(page.shows("Check the box to revoke.") && page.shows("value=\"revoke\" checked"));
    assert!(works(&running, &key_tree[0]).await);
}

#[tokio::test]
async fn repeated_revocation_succeeds_with_one_event() {
    let (running, browser, [_, _, leaf]) = ada_with_key_tree().await;
    let path = revoke_path(&leaf.key);
    browser.post(&path, &[("confirm", "yes")]).await;
    let events = running.installation.store.events().len();
    let answer = browser.post(&path, &[("confirm", "yes")]).await;
    assert!(
        browser
            .follow(&answer)
            .await
            .text()
            .contains("Grandchild was revoked.")
    );
    assert_eq!(running.installation.store.events().len(), events);
    let page = browser.get(&path).await;
    assert!(page.shows("This key was revoked") && !page.shows("name=\"confirm\""));
}

#[tokio::test]
async fn revoking_another_members_key_is_not_found_and_changes_nothing() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let foreign = running.installation.issue(&grace.as_holder(), "Grace's").await;
    let browser = running.signed_in("ada").await;
    let unknown = running
        .installation
        .builder
        .ids
        .next::<keyward_domain::id::ApiKeyId>();
    let mut pages = Vec::new();
    for id in [
        foreign.key.id.to_string(),
        unknown.to_string(),
        "not-an-id".to_owned(),
        "%ff".to_owned(),
    ] {
        let path = format!("{LIST}/{id}/revoke");
        for answer in [
            browser.get(&path).await,
            browser
                .post(&path, &[("confirm", "yes"), ("descendants", "revoke")])
                .await,
        ] {
            assert_eq!(answer.status, 404, "{id}");
            pages.push(answer.body.replace(answer.header("x-request-id"), ""));
        }
    }
    assert!(pages.iter().all(|page| *page == pages[0]));
    assert!(works(&running, &foreign).await);
}

#[tokio::test]
async fn revoking_returns_to_the_same_list() {
    let (_, browser, [parent, ..]) = ada_with_key_tree().await;
    let query = "status=all&search=parent";
    let list = browser.get(&format!("{LIST}?{query}")).await;
    let path = format!("{}?{query}", revoke_path(&parent.key));
    assert!(
        list.shows(&format!("href=\"{}\"", path.replace('&', "&#38;"))),
        "{}",
        list.body
    );
    let page = browser.get(&path).await;
    let back = format!("href=\"{LIST}?status=all&#38;search=parent\"");
    assert_eq!(
        page.body.matches(&back).count(),
        2,
        "back and cancel: {}",
        page.body
    );
    assert!(page.shows(&format!("action=\"{}\"", path.replace('&', "&#38;"))));
    let answer = browser.post(&path, &[("confirm", "yes")]).await;
    assert_eq!(answer.location(), format!("{LIST}?status=all&search=parent"));
    assert!(
        browser
            .follow(&answer)
            .await
            .text()
            .contains("Parent was revoked")
    );
}
