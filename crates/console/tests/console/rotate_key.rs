use chrono::TimeDelta;
use keyward_domain::api_key::ApiKey;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::Member;

use crate::browser::{Answer, Browser};
use crate::running::{LIST, Running};

fn rotate_path(key: &ApiKey) -> String {
    format!("{LIST}/{}/rotate", key.id)
}

async fn ada_with_key() -> (Running, Member, Browser, IssuedKey) {
    let (running, ada) = Running::with_ada().await;
    let issued = running.installation.issue(&ada.as_holder(), "Deploy").await;
    let browser = running.signed_in("ada").await;
    (running, ada, browser, issued)
}

async fn send(browser: &Browser, key: &ApiKey, idempotency_key: &str, old_key_ends: &str) -> Answer {
    let fields = [
        ("idempotency_key", idempotency_key),
        ("old_key_ends", old_key_ends),
    ];
    browser.post(&rotate_path(key), &fields).await
}

async fn rotate(browser: &Browser, key: &ApiKey, old_key_ends: &str) -> Answer {
    let form = browser.get(&rotate_path(key)).await;
    send(browser, key, form.field("idempotency_key"), old_key_ends).await
}

async fn works(running: &Running, token: &str) -> bool {
    let authenticate = running.installation.authenticate();
    authenticate.caller(token, None).await.is_ok()
}

#[tokio::test]
async fn rotated_keys_new_token_is_shown_once_and_works() {
    for (old_key_ends, says, valid_for) in [
        ("after_a_day", "works until", Some(TimeDelta::days(1))),
        ("after_a_week", "works until", Some(TimeDelta::days(7))),
        ("on_first_use", "works until this one is used", None),
        ("at_once", "no longer works", Some(TimeDelta::zero())),
    ] {
        let (running, ada, browser, old) = ada_with_key().await;
        let page = rotate(&browser, &old.key, old_key_ends).await;
        assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
        assert!(
            page.shows(says) && page.text().contains(old.key.hint.as_str()),
            "{}",
            page.text()
        );
        let token = page.tokens()[0].to_owned();
        assert!(works(&running, &token).await, "{old_key_ends}");
        let keys = running.installation.keys();
        let stored = keys.read(&ada.as_holder(), old.key.id).await.unwrap();
        let lives = stored.end().map(|end| end.at() - running.installation.now());
        assert_eq!(lives, valid_for, "{old_key_ends}");
        let at_once = valid_for == Some(TimeDelta::zero());
        assert_eq!(works(&running, old.token.expose()).await, !at_once);
        for list in [LIST, &format!("{LIST}/all")] {
            let revoked = browser.get(&format!("{list}?status=revoked")).await.text();
            let ended = revoked.contains("UTC and replaced by another key");
            assert_eq!(ended, at_once, "{revoked}");
        }
    }
}

#[tokio::test]
async fn rotation_form_that_is_sent_again_shows_no_token() {
    let (_running, _, browser, old) = ada_with_key().await;
    let form = browser.get(&rotate_path(&old.key)).await;
    let late = browser.get(&rotate_path(&old.key)).await;
    let idempotency_key = form.field("idempotency_key");
    let first = send(&browser, &old.key, idempotency_key, "after_a_day").await;
    assert_eq!(first.tokens().len(), 2);
    // The second one was opened before the key was rotated, too.
    for mark in [idempotency_key, late.field("idempotency_key")] {
        let again = send(&browser, &old.key, mark, "at_once").await;
        let list = browser.follow(&again).await;
        assert!(again.tokens().is_empty() && list.tokens().is_empty());
        assert!(
            list.shows("already rotated") && list.shows("rotate that key"),
            "{}",
            list.text()
        );
    }
}

#[tokio::test]
async fn only_a_valid_key_without_successor_offers_rotation() {
    let (running, ada, browser, old) = ada_with_key().await;
    let path = rotate_path(&old.key);
    let offer = format!("href=\"{path}\"");
    assert!(browser.get(LIST).await.shows(&offer));
    assert!(
        browser
            .get(&format!("{LIST}/{}/edit", old.key.id))
            .await
            .shows(&offer)
    );
    rotate(&browser, &old.key, "after_a_day").await;
    assert!(!browser.get(LIST).await.shows(&offer));
    assert!(
        !browser
            .get(&format!("{LIST}/{}/edit", old.key.id))
            .await
            .shows(&offer)
    );
    let page = browser.get(&path).await;
    assert!(page.shows("This key was rotated") && !page.shows("<fieldset"));

    let revoked = running.installation.issue(&ada.as_holder(), "Revoked").await;
    let form = browser.get(&rotate_path(&revoked.key)).await;
    let confirmed = [("confirm", "yes")];
    browser
        .post(&format!("{LIST}/{}/revoke", revoked.key.id), &confirmed)
        .await;
    let refused = send(&browser, &revoked.key, form.field("idempotency_key"), "at_once").await;
    assert_eq!(refused.status, 409);
    assert!(refused.shows("This key was revoked") && refused.tokens().is_empty());
}

#[tokio::test]
async fn malformed_rotation_form_changes_nothing() {
    let (running, ada, browser, old) = ada_with_key().await;
    let form = browser.get(&rotate_path(&old.key)).await;
    let mark = form.field("idempotency_key");
    for fields in [
        vec![("idempotency_key", mark)],
        vec![("idempotency_key", mark), ("old_key_ends", "never")],
        vec![("idempotency_key", mark), ("old_key_ends", "")],
        vec![("old_key_ends", "at_once")],
        vec![("idempotency_key", "x"), ("old_key_ends", "at_once")],
    ] {
        let answer = browser.post(&rotate_path(&old.key), &fields).await;
        assert_eq!(answer.status, 400, "{fields:?}");
    }
    let keys = running.installation.keys();
    let stored = keys.read(&ada.as_holder(), old.key.id).await.unwrap();
    assert_eq!((stored.rotated_to, stored.end()), (None, None));
}

#[tokio::test]
async fn edit_postponing_a_rotated_keys_end_is_refused_with_reason() {
    let (running, ada, browser, old) = ada_with_key().await;
    rotate(&browser, &old.key, "after_a_day").await;
    let path = format!("{LIST}/{}/edit", old.key.id);
    let form = browser.get(&path).await;
    for later in ["never", "7", "30", "60", "90"] {
        assert!(!form.shows(&format!("<option value=\"{later}\"")), "{later}");
    }
    assert!(
        form.text()
            .contains("this can only be brought forward. The latest allowed is 2 January 2026")
    );
    let fields = [
        ("version", form.field("version")),
        ("name", "Deploy"),
        ("description", ""),
        ("expiration", "90"),
        ("expires_at", ""),
    ];
    let answer = browser.post(&path, &fields).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert!(
        answer.shows("Expiration can only be brought forward"),
        "{}",
        answer.text()
    );
    let select = "<select id=\"expiration\" name=\"expiration\" aria-invalid=\"true\" \
                  aria-describedby=\"expiration-error expiration-hint\" autofocus>";
    assert!(answer.shows(select), "{}", answer.body);
    let keys = running.installation.keys();
    let stored = keys.read(&ada.as_holder(), old.key.id).await.unwrap();
    let lives = stored.end().map(|end| end.at() - running.installation.now());
    assert_eq!(lives, Some(TimeDelta::days(1)));
}

#[tokio::test]
async fn rotation_form_leads_leaked_tokens_to_revocation() {
    let (running, ada, browser, old) = ada_with_key().await;
    let page = browser.get(&rotate_path(&old.key)).await;
    let revoke = format!("href=\"{LIST}/{}/revoke\"", old.key.id);
    assert!(page.shows(&revoke), "{}", page.body);

    let restricted = running
        .installation
        .issue_restricted(&ada.as_holder(), "Restricted")
        .await;
    let page = browser.get(&rotate_path(&restricted.key)).await;
    assert!(!page.shows("/revoke\"") && page.text().contains("choose “Now”"));
}

#[tokio::test]
async fn rotated_key_and_its_successor_name_each_other() {
    for (old_key_ends, until_used) in [("on_first_use", true), ("after_a_day", false)] {
        let (running, ada, browser, old) = ada_with_key().await;
        let other = running.installation.issue(&ada.as_holder(), "Other").await;
        rotate(&browser, &old.key, old_key_ends).await;
        let keys = running.installation.keys();
        let old = keys.read(&ada.as_holder(), old.key.id).await.unwrap();
        let new = keys
            .read(&ada.as_holder(), old.rotated_to.unwrap())
            .await
            .unwrap();

        let own = browser.get(LIST).await;
        let all = browser.get(&format!("{LIST}/all")).await;
        for hint in [&old.hint, &new.hint] {
            let edits = format!("Edit<span class=\"unseen\"> Deploy {hint}</span>");
            let selects = format!("Select <bdi>Deploy</bdi> {hint} of ada<");
            assert!(own.shows(&edits) && all.shows(&selects), "told apart: {hint}");
        }
        let list = own.text();
        let until = if until_used {
            ", works until that is used"
        } else {
            ""
        };
        let replaced = format!("Replaced by {}{until} ", new.hint);
        assert!(list.contains(&replaced), "{replaced}: {list}");
        assert!(list.contains(&format!("Replaces {}", old.hint)), "{list}");
        assert_eq!(list.matches("Replace").count(), 2, "{list}");

        let page = async |key: &ApiKey| browser.get(&format!("{LIST}/all/{}", key.id)).await;
        let old_page = page(&old).await;
        assert!(old_page.text().contains("Replaced by") && old_page.shows(&new.id.to_string()));
        assert_eq!(old_page.text().contains("works until that is used"), until_used);
        let new_page = page(&new).await;
        assert!(new_page.text().contains("Replaces") && new_page.shows(&old.id.to_string()));
        assert!(!page(&other.key).await.text().contains("Replace"));
    }
}

#[tokio::test]
async fn key_whose_successor_ended_offers_rotation_again() {
    for old_key_ends in ["on_first_use", "after_a_day"] {
        let (running, ada, browser, old) = ada_with_key().await;
        rotate(&browser, &old.key, old_key_ends).await;
        let keys = running.installation.keys();
        let stored = async || keys.read(&ada.as_holder(), old.key.id).await.unwrap();
        let first = stored().await.rotated_to.unwrap();
        let confirmed = [("confirm", "yes")];
        browser.post(&format!("{LIST}/{first}/revoke"), &confirmed).await;

        let path = rotate_path(&old.key);
        let pages = [
            LIST.to_owned(),
            format!("{LIST}/{}/edit", old.key.id),
            format!("{LIST}/all/{}", old.key.id),
        ];
        for page in pages {
            let page = browser.get(&page).await;
            assert!(page.shows(&format!("href=\"{path}\"")), "{}", page.text());
            assert!(
                !page.text().contains("works until that is used"),
                "{}",
                page.text()
            );
        }
        let list = browser.get(LIST).await.text();
        assert!(list.contains("Its replacement no longer works"), "{list}");
        let page = browser.get(&format!("{LIST}/all/{}", old.key.id)).await.text();
        assert!(page.contains("which no longer works"), "{page}");

        let form = browser.get(&path).await.text();
        let keeps_expiration = old_key_ends == "on_first_use";
        assert_eq!(form.contains("rights and expiration"), keeps_expiration, "{form}");
        assert_eq!(form.contains("edit it afterwards"), !keeps_expiration, "{form}");
        let page = rotate(&browser, &old.key, old_key_ends).await;
        assert!(works(&running, page.tokens()[0]).await);
        assert_ne!(stored().await.rotated_to, Some(first));
        assert!(browser.get(&path).await.shows("This key was rotated"));
    }
}

#[tokio::test]
async fn form_sent_again_after_its_successor_ended_is_shown_anew() {
    let (running, ada, browser, old) = ada_with_key().await;
    let form = browser.get(&rotate_path(&old.key)).await;
    let sent = form.field("idempotency_key");
    send(&browser, &old.key, sent, "on_first_use").await;
    let keys = running.installation.keys();
    let stored = keys.read(&ada.as_holder(), old.key.id).await.unwrap();
    let confirmed = [("confirm", "yes")];
    let revoke = format!("{LIST}/{}/revoke", stored.rotated_to.unwrap());
    browser.post(&revoke, &confirmed).await;

    let again = send(&browser, &old.key, sent, "on_first_use").await;
    assert_eq!(again.status, 409);
    assert!(
        again.shows("<fieldset") && again.tokens().is_empty(),
        "{}",
        again.text()
    );
    assert_ne!(again.field("idempotency_key"), sent);
}
