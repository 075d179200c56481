//! Keys that expire: the forms that choose it, and the pages that show it.

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Action;
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, StatusFilter};

use crate::browser::{Answer, Browser};
use crate::running::{LIST, NEW, Running};

const ALL: &str = "/organizations/acme/settings/api-keys/all";

async fn create(browser: &Browser, name: &str, expiry: &[(&str, &str)]) -> Answer {
    let form = browser.get(NEW).await;
    let mut fields = vec![
        ("idempotency_key", form.field("idempotency_key")),
        ("name", name),
        ("description", ""),
    ];
    fields.extend(expiry);
    browser.post(NEW, &fields).await
}

/// The key that was created last.
async fn newest(running: &Running, member: &Member) -> ApiKey {
    let (keys, all) = (
        running.installation.keys(),
        KeyFilter::new(StatusFilter::All, None),
    );
    let (holder, now) = (member.as_holder(), running.installation.now());
    let found = keys
        .list(&holder, all, PageRequest::first(PageSize::ONE), now)
        .await;
    found.unwrap().items.remove(0)
}

async fn end(running: &Running, member: &Member) -> Option<DateTime<Utc>> {
    newest(running, member)
        .await
        .expires_at(running.installation.now())
}

async fn edit(browser: &Browser, key: &ApiKey, expiry: &[(&str, &str)]) -> Answer {
    let path = format!("{LIST}/{}/edit", key.id);
    let form = browser.get(&path).await;
    let mut fields = vec![
        ("version", form.field("version")),
        ("name", key.name.as_str()),
        ("description", ""),
    ];
    fields.extend(expiry);
    browser.post(&path, &fields).await
}

fn moment(text: &str) -> Option<DateTime<Utc>> {
    Some(text.parse().unwrap())
}

/// Browsers check a date that is hidden by another choice, too, and then do not send the form.
#[tokio::test]
async fn browser_does_not_validate_forms_with_an_expiration() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let members = "/organizations/acme/settings/members";
    for path in [
        NEW,
        &format!("{LIST}/{}/edit", key.id),
        &format!("{members}/{}/expiration", grace.membership.id),
    ] {
        let page = browser.get(path).await;
        let (before, _) = page.body.split_once("name=\"expires_at\"").expect(path);
        let (_, form) = before.rsplit_once("<form ").unwrap();
        let (form, _) = form.split_once('>').unwrap();
        assert!(form.contains("novalidate"), "{path}: {form}");
    }
}

#[tokio::test]
async fn key_form_chooses_when_the_key_expires() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    assert!(
        browser
            .get(NEW)
            .await
            .shows("<option value=\"never\" selected>No expiration")
    );
    for (expiry, expected) in [
        (&[][..], None),
        (&[("expiration", "never"), ("expires_at", "")], None),
        (&[("expiration", "7")], moment("2026-01-08T00:00:00Z")),
        (
            &[("expiration", "30"), ("expires_at", "nothing")],
            moment("2026-01-31T00:00:00Z"),
        ),
        (&[("expiration", "90")], moment("2026-04-01T00:00:00Z")),
        (
            &[("expiration", "at"), ("expires_at", "2027-06-01T09:30")],
            moment("2027-06-01T09:30:00Z"),
        ),
        (
            &[("expiration", "at"), ("expires_at", "2026-01-01T00:00:01")],
            moment("2026-01-01T00:00:01Z"),
        ),
    ] {
        let page = create(&browser, "Deploy", expiry).await;
        assert_eq!(page.status, 200, "{expiry:?}");
        assert_eq!(page.shows("It expires "), expected.is_some());
        assert_eq!(end(&running, &ada).await, expected, "{expiry:?}");
    }
}

#[tokio::test]
async fn unacceptable_expiry_creates_no_key_and_is_explained() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for (at, error) in [
        ("", "Expiration must be a date and a time."),
        ("2026-02-30T00:00", "Expiration must be a date and a time."),
        ("2026-06-01", "Expiration must be a date and a time."),
        ("2026-01-01T00:00", "Expiration must be in the future."),
        ("0001-01-01T00:00", "Expiration must be in the future."),
        ("2036-01-01T00:00", "Expiration must be at most 3650 days ahead."),
        (
            "9999-12-31T23:59:59",
            "Expiration must be at most 3650 days ahead.",
        ),
    ] {
        let page = create(&browser, " ", &[("expiration", "at"), ("expires_at", at)]).await;
        assert_eq!(page.status, 422, "{at}");
        let text = page.text();
        assert!(
            text.contains(error) && text.contains("Name must not be empty."),
            "{text}"
        );
        assert!(page.shows("<option value=\"at\" selected>") && page.shows(&format!("value=\"{at}\" min")));
    }
    let fields = [("expiration", "at"), ("expires_at", "2026-01-01T00:00")];
    let page = create(&browser, "Deploy", &fields).await;
    let focused = "aria-describedby=\"expires_at-error expires_at-hint\" autofocus";
    assert!(page.shows(focused) && page.body.matches(" autofocus").count() == 1);
    for choice in ["8", "07", "keep it", "", "-7"] {
        let page = create(&browser, "Deploy", &[("expiration", choice)]).await;
        assert_eq!(page.status, 400, "{choice}");
    }
}

#[tokio::test]
async fn edit_form_keeps_moves_and_removes_the_expiry() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    create(&browser, "Deploy", &[("expiration", "30")]).await;
    let planned = moment("2026-01-31T00:00:00Z");
    for (expiry, expected) in [
        (&[][..], planned),
        (&[("expiration", "keep")], planned),
        (&[("expiration", "60")], moment("2026-03-02T00:00:00Z")),
        (
            &[("expiration", "at"), ("expires_at", "2026-02-01T00:00")],
            moment("2026-02-01T00:00:00Z"),
        ),
        (&[("expiration", "never")], None),
        (&[("expiration", "keep")], None),
        (&[("expiration", "7")], moment("2026-01-08T00:00:00Z")),
    ] {
        let key = newest(&running, &ada).await;
        let form = browser.get(&format!("{LIST}/{}/edit", key.id)).await;
        let keeps = form.shows("<option value=\"keep\" selected>");
        assert_eq!(keeps, key.end().is_some());
        // A time in an option could not be written like the others.
        assert_eq!(form.shows("Currently <time datetime="), keeps);
        assert_eq!(edit(&browser, &key, expiry).await.status, 303, "{expiry:?}");
        assert_eq!(end(&running, &ada).await, expected, "{expiry:?}");
    }
    let events = running.installation.store.events();
    let changes = events.iter().filter(|event| event.action == Action::ChangeExpiry);
    assert_eq!(changes.count(), 4);
}

#[tokio::test]
async fn form_of_an_older_expiry_shows_the_current_one() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    create(&browser, "Deploy", &[("expiration", "30")]).await;
    let key = newest(&running, &ada).await;
    let path = format!("{LIST}/{}/edit", key.id);
    let version = browser.get(&path).await.field("version").to_owned();
    edit(&browser, &key, &[("expiration", "60")]).await;
    let fields = |choice| {
        [
            ("version", &*version),
            ("name", "Deploy"),
            ("description", ""),
            ("expiration", choice),
        ]
    };
    let conflict = browser.post(&path, &fields("never")).await;
    assert_eq!(conflict.status, 409);
    assert!(
        conflict.text().contains("Current expiration2 March 2026"),
        "{}",
        conflict.text()
    );
    assert!(conflict.shows("<option value=\"never\" selected>"));
    let again = browser.post(&path, &fields("60")).await;
    assert_eq!(again.status, 303, "the same form, sent twice");
    assert_eq!(end(&running, &ada).await, moment("2026-03-02T00:00:00Z"));
}

#[tokio::test]
async fn lists_and_key_page_show_when_keys_expire() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    create(&browser, "Deploy", &[("expiration", "30")]).await;
    let key = newest(&running, &ada).await;
    let page = format!("{ALL}/{}", key.id);
    let at = moment("2026-01-31T00:00:00Z").unwrap();
    let clock = &running.installation.builder.clock;
    for (before, words) in [
        (TimeDelta::days(7) + TimeDelta::milliseconds(1), "Expires"),
        (TimeDelta::days(7), "Expiring"),
        (TimeDelta::milliseconds(1), "Expiring"),
    ] {
        clock.advance(at - before - running.installation.now());
        for path in [LIST, ALL, &page] {
            let browser = running.signed_in("ada").await;
            let text = browser.get(path).await.text();
            let told = format!("{words} 31 Jan 2026, 00:00 UTC");
            assert!(text.contains(&told), "{path}: {text}");
            assert_eq!(text.contains("Expiring"), words == "Expiring", "{path}");
        }
    }
    clock.advance(TimeDelta::milliseconds(1));
    let browser = running.signed_in("ada").await;
    for (path, time) in [
        (&format!("{LIST}?status=revoked"), "31 January 2026, 00:00:00 UTC"),
        (&format!("{ALL}?status=revoked"), "31 Jan 2026, 00:00 UTC"),
        (&page, "31 January 2026, 00:00:00 UTC"),
    ] {
        let text = browser.get(path).await.text();
        assert!(
            text.contains(&format!("Expired {time} as planned")),
            "{path}: {text}"
        );
    }
}

#[tokio::test]
async fn pages_of_an_expired_key_say_that_it_expired() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    create(&browser, "Deploy", &[("expiration", "7")]).await;
    let key = newest(&running, &ada).await;
    running.installation.builder.clock.advance(TimeDelta::days(7));
    let browser = running.signed_in("ada").await;
    for page in ["edit", "rotate", "revoke"] {
        let text = browser.get(&format!("{LIST}/{}/{page}", key.id)).await.text();
        assert!(text.contains("This key expired"), "{page}: {text}");
        assert!(
            text.contains("expired 8 January 2026, 00:00:00 UTC and "),
            "{page}: {text}"
        );
        for wrong in ["was revoked", "Nothing was changed"] {
            assert!(!text.contains(wrong), "{page}: {text}");
        }
    }
}
