//! The page of a key: its key tree.

use keyward_domain::api_key::KeyPrecondition;
use keyward_domain::audit::RequestSource;
use keyward_domain::ports::DescendantKeys;
use keyward_domain::rate::Rate;

use super::{ALL, Scene};

#[tokio::test]
async fn key_is_shown_in_its_key_tree_of_any_size() {
    let mut scene = Scene::new().await;
    scene.running.installation.limits.changes = Rate::per_minute(60, 1_000);
    let root = scene.issue(&scene.bob, "root").await;
    for number in 0..505 {
        let sibling = scene.issue_below(&root, &format!("sibling {number:03}")).await;
        let (keys, source) = (scene.running.installation.keys(), RequestSource::default());
        keys.revoke(
            &scene.bob.as_holder(),
            sibling.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            source,
        )
        .await
        .unwrap();
    }
    let parent = scene.issue_below(&root, "young parent").await;
    let young = scene.issue_below(&parent, "youngest").await;
    let page = scene.owner.get(&format!("{ALL}/{}", young.key.id)).await;
    let text = page.text();
    let (_, key_tree) = text.split_once("Related keys").unwrap();
    for name in ["root", "sibling 000", "sibling 496", "young parent", "youngest"] {
        assert!(key_tree.contains(name), "{name}");
    }
    assert!(!key_tree.contains("sibling 497"));
    assert!(key_tree.contains("Not all related keys are shown"), "{key_tree}");
    assert!(page.shows("aria-current=\"true\""));
}

#[tokio::test]
async fn key_page_shows_the_key_tree() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let child = scene.issue_below(&root, "child").await;
    scene.issue_below(&child, "grandchild").await;
    scene.issue_below(&root, "second child").await;
    scene.issue(&scene.bob, "unrelated").await;
    let page = scene.owner.get(&format!("{ALL}/{}", child.key.id)).await;
    assert_eq!(page.status, 200);
    let events = format!(
        "/organizations/acme/settings/audit-log?what=api_key%3A{}",
        child.key.id
    );
    assert!(page.shows(&format!("href=\"{events}\"")), "{}", page.body);
    let events = scene.owner.get(&events).await.text();
    assert!(events.contains("created the API key child"), "{events}");
    let text = page.text();
    let (_, key_tree) = text.split_once("Related keys").unwrap();
    assert!(
        key_tree.find("root").unwrap() < key_tree.find("grandchild").unwrap(),
        "{key_tree}"
    );
    assert!(
        key_tree.find("grandchild").unwrap() < key_tree.find("second child").unwrap(),
        "{key_tree}"
    );
    assert!(text.starts_with("child, API key of bob ") && !key_tree.contains("unrelated"));
    assert_eq!(
        page.body.matches("<ul").count(),
        page.body.matches("</ul>").count()
    );
    assert_eq!(
        page.body.matches("<li>").count(),
        page.body.matches("</li>").count()
    );
    assert_eq!(page.tokens(), Vec::<&str>::new());
    let unknown = scene.owner.get(&format!("{ALL}/{}", scene.ada.user.id)).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn key_page_leads_only_its_holder_to_edit_and_rotate() {
    let scene = Scene::new().await;
    let (own, of_bob) = (
        scene.issue(&scene.ada, "own").await,
        scene.issue(&scene.bob, "his").await,
    );
    for (key, is_own) in [(own, true), (of_bob, false)] {
        let page = scene.owner.get(&format!("{ALL}/{}", key.key.id)).await;
        for form in ["edit", "rotate"] {
            let link = format!(
                "href=\"/organizations/acme/settings/api-keys/{}/{form}\"",
                key.key.id
            );
            assert_eq!(page.shows(&link), is_own, "{form}: {}", page.body);
        }
        assert!(page.shows("Revoke…"), "{}", page.body);
    }
}

#[tokio::test]
async fn key_tree_stays_connected_after_an_inner_key_is_removed() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let middle = scene.issue_below(&root, "middle").await;
    let last = scene.issue_below(&middle, "last").await;
    scene.revoke(&middle).await;
    scene.forget_dead_keys().await;

    let page = scene.owner.get(&format!("{ALL}/{}", root.key.id)).await;
    let text = page.text();
    let (_, key_tree) = text.split_once("Related keys").unwrap();
    assert!(!key_tree.contains("middle"), "{key_tree}");
    let (_, below) = key_tree.split_once("last").unwrap();
    assert!(below.contains("created by a deleted key"), "{key_tree}");
    let page = scene.owner.get(&format!("{ALL}/{}", last.key.id)).await;
    assert!(page.shows("root"));
    let gone = scene.owner.get(&format!("{ALL}/{}", middle.key.id)).await;
    assert_eq!(gone.status, 404);
}
