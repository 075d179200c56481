use keyward_domain::api_key::{ApiKey, KeyPrecondition};
use keyward_domain::audit::RequestSource;
use keyward_domain::membership::Role;
use keyward_domain::ports::DescendantKeys;

use crate::browser::Browser;
use crate::running::{LIST, NEW, Running};

fn edit_path(key: &ApiKey) -> String {
    format!("{LIST}/{}/edit", key.id)
}

/// Ada, signed in, with a key.
async fn ada_with_key() -> (Running, Browser, ApiKey) {
    let (running, ada) = Running::with_ada().await;
    let key = running.installation.issue(&ada.as_holder(), "Deploy").await.key;
    let browser = running.signed_in("ada").await;
    (running, browser, key)
}

#[tokio::test]
async fn editing_a_key_from_its_row_changes_texts_with_notice() {
    let (running, browser, key) = ada_with_key().await;
    let path = edit_path(&key);
    let list = browser.get(LIST).await;
    assert!(list.shows(&format!("href=\"{path}\">Edit")));
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200);
    assert!(page.shows(" value=\"Deploy\"") && page.shows(key.hint.as_str()));
    let never = "<dt>Last used</dt><dd><span class=\"muted\">never";
    assert!(page.shows(never), "{}", page.body);
    let seen = page.field("version");
    let fields = [
        ("version", seen),
        ("name", " Release "),
        ("description", "every\r\nnight"),
    ];
    let answer = browser.post(&path, &fields).await;
    assert_eq!((answer.status, answer.location()), (303, LIST));
    let list = browser.follow(&answer).await;
    assert!(
        list.text().contains("The changes to Release were saved."),
        "{}",
        list.text()
    );
    assert!(
        list.shows("<bdi>Release</bdi></span>") && list.shows("<bdi class=\"clamped\">every\nnight</bdi>")
    );
    assert!(browser.get(&path).await.shows("every\nnight</textarea>"));
    let events = running.installation.store.events().len();
    for version in [seen, browser.get(&path).await.field("version")] {
        let same = [
            ("version", version),
            ("name", "Release"),
            ("description", "every\nnight"),
        ];
        let answer = browser.post(&path, &same).await;
        assert_eq!(answer.status, 303, "also if the form is sent twice");
    }
    assert_eq!(
        running.installation.store.events().len(),
        events,
        "nothing changed"
    );
}

#[tokio::test]
async fn each_text_is_taken_checked_and_shown() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let new = browser.get(NEW).await;
    let names: Vec<&str> = new.text_fields().into_iter().map(|(name, _)| name).collect();
    assert!(names.starts_with(&["name", "description"]), "{names:?}");
    let values: Vec<[String; 2]> = names
        .iter()
        .map(|name| [format!("first {name}"), format!("second {name}")])
        .collect();
    let typed = |nth: usize| {
        names
            .iter()
            .copied()
            .zip(values.iter().map(move |both| &*both[nth]))
    };
    let hidden = ("idempotency_key", new.field("idempotency_key"));
    let created = browser.post(NEW, &fields_with(hidden, typed(0))).await;
    assert_eq!(created.status, 200, "{}", created.text());
    let list = browser.get(LIST).await;
    let (before, _) = list.body.split_once("/edit\"").expect("a key");
    let (_, id) = before.rsplit_once('/').expect("its path");
    let path = format!("{LIST}/{id}/edit");

    let opened = browser.get(&path).await;
    assert_eq!(opened.text_fields(), typed(0).collect::<Vec<_>>());
    let version = ("version", opened.field("version"));
    for name in &names {
        let wrong = typed(1).map(|(other, value)| (other, if other == *name { "\u{7}" } else { value }));
        let refused = browser.post(&path, &fields_with(version, wrong)).await;
        assert_eq!(refused.status, 422, "{name}");
        assert!(refused.shows(&format!("id=\"{name}-error\"")), "{name}");
    }
    let saved = browser.post(&path, &fields_with(version, typed(1))).await;
    assert_eq!(saved.status, 303);
    let stale = browser.post(&path, &fields_with(version, typed(0))).await;
    assert_eq!(stale.status, 409);
    assert_eq!(stale.text_fields(), typed(0).collect::<Vec<_>>());
    let owners = browser.get(&format!("{LIST}/all/{id}")).await;
    for (name, value) in typed(1) {
        assert!(stale.shows(value) && owners.shows(value), "{name}");
    }
}

fn fields_with<'a>(
    hidden: (&'a str, &'a str),
    typed: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(&'a str, &'a str)> {
    [hidden].into_iter().chain(typed).collect()
}

#[tokio::test]
async fn invalid_edit_shows_field_errors_and_changes_nothing() {
    let (_running, browser, key) = ada_with_key().await;
    let path = edit_path(&key);
    let long = "d".repeat(501);
    let version = key.version().to_string();
    let fields = [("version", &*version), ("name", " "), ("description", &long)];
    let page = browser.post(&path, &fields).await;
    assert_eq!(page.status, 422);
    assert_eq!(page.field("version"), version);
    let text = page.text();
    assert!(text.contains("Name must not be empty."), "{text}");
    assert!(
        text.contains("Description must be at most 500 characters long, not 501."),
        "{text}"
    );
    assert!(page.shows("aria-describedby=\"name-error name-hint\" autofocus") && page.shows(&long));
    assert!(page.shows("<title>Error: Edit “Deploy” · Acme · "));
    assert!(browser.get(&path).await.shows(" value=\"Deploy\""));
    for incomplete in [
        &[("version", &*version), ("name", "no description")][..],
        &[("name", "no version"), ("description", "")],
        &[("version", "x"), ("name", "no version"), ("description", "")],
    ] {
        assert_eq!(browser.post(&path, incomplete).await.status, 400);
    }
}

#[tokio::test]
async fn stale_edit_is_refused_and_shows_current_texts() {
    let (running, browser, key) = ada_with_key().await;
    let path = edit_path(&key);
    let opened = browser.get(&path).await;
    let seen = opened.field("version");
    let elsewhere = [
        ("version", seen),
        ("name", "Release"),
        ("description", "<every night>"),
    ];
    assert_eq!(browser.post(&path, &elsewhere).await.status, 303);
    let events = running.installation.store.events();

    let typed = [("version", seen), ("name", "Build"), ("description", "by hand")];
    let page = browser.post(&path, &typed).await;
    assert_eq!(page.status, 409);
    let text = page.text();
    for told in [
        "your changes were not saved",
        "Current nameRelease",
        "Current description&#60;every night&#62;",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(page.shows("<title>Error: Edit “Release” · Acme · ") && page.shows("role=\"alert\""));
    assert!(page.shows(" value=\"Build\"") && page.shows("by hand</textarea>"));
    assert_eq!(running.installation.store.events(), events);

    let again = [("version", page.field("version")), typed[1], typed[2]];
    assert_eq!(browser.post(&path, &again).await.status, 303);
    assert!(browser.get(&path).await.shows(" value=\"Build\""));
}

#[tokio::test]
async fn field_errors_do_not_hide_a_concurrent_change() {
    let (_running, browser, key) = ada_with_key().await;
    let path = edit_path(&key);
    let seen = key.version().to_string();
    let send = async |version: &str, name: &str| {
        let fields = [("version", version), ("name", name), ("description", "")];
        browser.post(&path, &fields).await
    };
    let wrong = send(&seen, "").await;
    send(&seen, "Release").await;
    let corrected = send(wrong.field("version"), "Build").await;
    assert_eq!(corrected.status, 409, "{}", corrected.text());
}

#[tokio::test]
async fn revoked_key_cannot_be_edited() {
    let (running, browser, key) = ada_with_key().await;
    let path = edit_path(&key);
    browser
        .post(&format!("{LIST}/{}/revoke", key.id), &[("confirm", "yes")])
        .await;
    let events = running.installation.store.events();
    let version = key.version().to_string();
    let fields = [("version", &*version), ("name", "Other"), ("description", "")];
    let answer = browser.post(&path, &fields).await;
    assert_eq!(answer.status, 409);
    for page in [answer, browser.get(&path).await] {
        assert!(page.text().contains("This key was revoked") && page.text().contains("Deploy"));
        assert!(!page.shows("name=\"name\"") && !page.shows("Other"));
    }
    assert!(!browser.get(&format!("{LIST}?status=all")).await.shows("/edit\""));
    assert_eq!(running.installation.store.events(), events);
}

#[tokio::test]
async fn editing_another_members_key_is_not_found() {
    let (running, browser, key) = ada_with_key().await;
    let acme = running.installation.organization("Other");
    let grace = running.installation.member(&acme, "grace", Role::Member);
    let foreign = running
        .installation
        .issue(&grace.as_holder(), "Grace's")
        .await
        .key;
    let keys = running.installation.keys();
    keys.revoke(
        &grace.as_holder(),
        foreign.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        RequestSource::default(),
    )
    .await
    .unwrap();
    let before = running.installation.store.events();
    for path in [
        edit_path(&foreign),
        format!("{LIST}/{}/edit", "x"),
        format!("{LIST}/{}x/edit", key.id),
    ] {
        assert_eq!(browser.get(&path).await.status, 404, "{path}");
        let version = foreign.version().to_string();
        let fields = [("version", &*version), ("name", "mine"), ("description", "")];
        assert_eq!(browser.post(&path, &fields).await.status, 404, "{path}");
    }
    assert_eq!(running.installation.store.events(), before);
}
