//! Revoking keys of others.

use chrono::TimeDelta;
use keyward_domain::api_key::KeyPrecondition;
use keyward_domain::audit::RequestSource;
use keyward_domain::membership::Role;
use keyward_domain::ports::DescendantKeys;

use super::{ALL, REVOKE, Scene, boxes, selecting};
use crate::browser::Answer;
use crate::running::LIST;

#[tokio::test]
async fn revocation_preview_shows_which_keys_will_stop() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let child = scene.issue_below(&root, "child").await;
    let hers = scene.issue(&scene.ada, "hers").await;
    scene.use_key(&root).await;
    let page = scene.owner.get(&selecting(&[&root, &hers])).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("Revoke 2 keys of 2 people?"), "{text}");
    assert!(
        text.contains("last used 1 January 2026, 00:00:00 UTC from 203.0.113.0/24")
            && text.contains("never used"),
        "{text}"
    );
    assert!(
        text.contains("1 other valid key was created with these keys") && text.contains("child"),
        "{text}"
    );
    assert!(page.shows(">Cancel</a>"));
    for key in [&root, &child, &hers] {
        assert!(scene.works(key).await);
    }
    let clock = &scene.running.installation.builder.clock;
    clock.advance(TimeDelta::minutes(2));
    let many = scene
        .owner
        .get(&format!("{REVOKE}?before=2026-01-01T00:01"))
        .await;
    assert!(
        many.text().contains("Revoke 3 keys of 2 people?"),
        "{}",
        many.text()
    );
    assert!(
        many.text()
            .contains("created before 1 January 2026, 00:01:00 UTC")
    );
    assert!(
        many.shows("created before <strong><time datetime="),
        "like other times"
    );
    let none = scene
        .owner
        .get(&format!("{REVOKE}?before=2025-01-01T00:00"))
        .await;
    assert!(none.text().contains("Nothing to revoke"));
    assert!(
        none.text()
            .contains("No valid keys were created before 1 January 2025")
    );
    for never in [
        "-9999-01-01T00:00",
        "%2B262142-01-01T00:00",
        "0000-12-31T00:00",
        "soon",
    ] {
        let page = scene.owner.get(&format!("{REVOKE}?before={never}")).await;
        assert_eq!(page.status, 400, "{never}");
        assert!(page.text().contains("in the years 1 to 9999"), "{never}");
    }
    let nothing_ticked = scene.owner.get(&format!("{REVOKE}?")).await;
    assert_eq!((nothing_ticked.status, nothing_ticked.location()), (303, ALL));
    let list = scene.owner.follow(&nothing_ticked).await;
    assert!(list.shows("id=\"selection-error\""));
}

#[tokio::test]
async fn revocation_preview_names_descendants_of_a_selection_of_any_size() {
    let scene = Scene::new().await;
    let mut selected = Vec::new();
    for number in 0..20 {
        selected.push(scene.issue(&scene.bob, &format!("a{number:02}")).await);
    }
    scene.issue_below(&selected[0], "zebra").await;
    let all: Vec<_> = selected.iter().collect();
    let text = scene.owner.get(&selecting(&all)).await.text();
    let (_, descendants) = text
        .split_once("1 other valid key was created with these keys")
        .unwrap();
    assert!(
        descendants.contains("zebra") && !descendants.contains("Showing"),
        "{descendants}"
    );
}

#[tokio::test]
async fn removal_and_leaving_previews_show_last_key_use() {
    let scene = Scene::new().await;
    let used = scene.issue(&scene.bob, "used").await;
    scene.issue(&scene.bob, "spare").await;
    scene.use_key(&used).await;
    let members = "/organizations/acme/settings/members";
    let removal = format!("{members}/{}/remove", scene.bob.membership.id);
    let owners = scene.owner.get(&removal).await.text();
    assert!(
        owners.contains("last used 1 January 2026, 00:00:00 UTC from 203.0.113.0/24"),
        "{owners}"
    );
    assert!(owners.contains("never used") && !owners.contains("203.0.113.7"));

    let holder = scene.running.signed_in("bob").await;
    let leave = "/organizations/acme/settings/general/leave";
    let holders = holder.get(leave).await.text();
    assert!(
        holders.contains("last used 1 January 2026, 00:00:00 UTC from 203.0.113.7"),
        "{holders}"
    );
    assert!(holders.contains("never used"), "{holders}");
}

#[tokio::test]
async fn holder_sees_the_reason_for_keys_an_owner_revoked() {
    let scene = Scene::new().await;
    let first = scene.issue(&scene.bob, "first").await;
    let second = scene.issue(&scene.bob, "second").await;
    let child = scene.issue_below(&second, "child").await;
    let keys = [&first, &second].map(|key| (format!("key-{}", key.key.id), "on"));
    let fields = boxes(&keys, &[("note", "the laptop was stolen"), ("confirm", "yes")]);
    let searched = "?status=all&search=s";
    let answer = scene.owner.post(&format!("{REVOKE}{searched}"), &fields).await;
    assert_eq!(answer.location(), format!("{ALL}{searched}"));
    let list = scene.owner.follow(&answer).await;
    assert!(
        list.text().contains("first and 1 other key were revoked."),
        "{}",
        list.text()
    );
    assert!(list.shows("role=\"status\""));
    assert!(!scene.works(&first).await && !scene.works(&second).await && scene.works(&child).await);

    let holders = scene.running.signed_in("bob").await;
    let text = holders.get(&format!("{LIST}?status=revoked")).await.text();
    assert!(
        text.contains("by ada, an owner: “the laptop was stolen”"),
        "{text}"
    );

    let again = scene.owner.post(REVOKE, &fields).await;
    assert!(
        scene
            .owner
            .follow(&again)
            .await
            .text()
            .contains("Nothing was revoked")
    );
}

#[tokio::test]
async fn owner_revokes_a_key_with_its_descendants_when_requested() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let child = scene.issue_below(&root, "child").await;
    let name = format!("key-{}", root.key.id);
    let fields = [
        (name.as_str(), "on"),
        ("descendants", "revoke"),
        ("note", "leaked"),
        ("confirm", "yes"),
    ];
    let answer = scene.owner.post(REVOKE, &fields).await;
    assert_eq!(answer.status, 303);
    assert!(!scene.works(&root).await && !scene.works(&child).await);
}

#[tokio::test]
async fn revoking_by_user_or_cutoff_time_affects_no_other_keys() {
    let scene = Scene::new().await;
    let his = scene.issue(&scene.bob, "his").await;
    let hers = scene.issue(&scene.ada, "hers").await;
    let holder = scene.bob.membership.id.to_string();
    let fields = [
        ("holder", holder.as_str()),
        ("note", "left the team"),
        ("confirm", "yes"),
    ];
    assert_eq!(scene.owner.post(REVOKE, &fields).await.status, 303);
    assert!(!scene.works(&his).await && scene.works(&hers).await);

    let clock = &scene.running.installation.builder.clock;
    clock.advance(TimeDelta::minutes(2));
    let page = scene
        .owner
        .get(&format!("{REVOKE}?before=2026-01-01T00:00:01"))
        .await;
    let late = scene.issue(&scene.ada, "late").await;
    let before = page.field("before");
    let fields = [("before", before), ("note", "incident"), ("confirm", "yes")];
    assert_eq!(scene.owner.post(REVOKE, &fields).await.status, 303);
    assert!(!scene.works(&hers).await && scene.works(&late).await);
}

#[tokio::test]
async fn revocation_beyond_its_time_budget_reports_the_remainder_and_resumes() {
    let scene = Scene::with_slow_revocations(&[]).await;
    let mut keys = Vec::new();
    for number in 1..=7 {
        keys.push(scene.issue(&scene.bob, &format!("key {number}")).await);
    }
    let holder = scene.bob.membership.id.to_string();
    let fields = [
        ("holder", holder.as_str()),
        ("note", "incident"),
        ("confirm", "yes"),
    ];
    let page = scene.owner.post(REVOKE, &fields).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("4 keys were revoked, 3 are left."), "{text}");
    assert!(
        text.contains("Revoke 3 keys of bob?") && text.contains("Continue"),
        "{text}"
    );
    assert!(page.shows("value=\"incident\""), "what was written stays");
    assert_eq!(page.field("holder"), holder);
    let mut works = Vec::new();
    for key in &keys {
        works.push(scene.works(key).await);
    }
    assert_eq!(works, [false, false, false, false, true, true, true]);

    let answer = scene.owner.post(REVOKE, &fields).await;
    let text = scene.owner.follow(&answer).await.text();
    assert!(text.contains("key 5 and 2 other keys were revoked."), "{text}");
    assert!(!scene.works(&keys[6]).await);
    let again = scene.owner.post(REVOKE, &fields).await;
    let text = scene.owner.follow(&again).await.text();
    assert!(text.contains("Nothing was revoked"), "{text}");
}

#[tokio::test]
async fn revocation_interrupted_by_store_failure_reports_progress_and_resumes() {
    let scene = Scene::with_slow_revocations(&[1, 2, 3, 4]).await;
    for number in 1..=5 {
        scene.issue(&scene.bob, &format!("key {number}")).await;
    }
    let holder = scene.bob.membership.id.to_string();
    let fields = [
        ("holder", holder.as_str()),
        ("note", "incident"),
        ("confirm", "yes"),
    ];
    let text = scene.owner.post(REVOKE, &fields).await.text();
    assert!(text.contains("2 keys were revoked, 3 are left."), "{text}");
    let nothing_at_all = scene.owner.post(REVOKE, &fields).await;
    assert_eq!(nothing_at_all.status, 503);
    let answer = scene.owner.post(REVOKE, &fields).await;
    let text = scene.owner.follow(&answer).await.text();
    assert!(text.contains("key 3 and 2 other keys were revoked."), "{text}");
}

#[tokio::test]
async fn too_recent_cutoff_time_revokes_nothing() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "key").await;
    for before in ["2026-01-01T00:00:00", "2027-01-01T00:00"] {
        let shows_the_form_again = |list: &Answer| {
            assert_eq!(list.status, 422, "{before}");
            assert!(
                list.shows("<title>Error: Keys that match “key”, All keys · ")
                    && list.shows("type=\"search\" value=\"key\"")
            );
            assert!(list.shows("<details class=\"aside\" open>"));
            assert!(list.shows("Nothing was revoked. Choose a time that was at least one minute ago"));
            assert!(list.shows(&format!("value=\"{before}")) && list.focused() == ["input id=\"before\""]);
            let field = "required aria-invalid=\"true\" aria-describedby=\"before-error before-hint\"";
            assert!(list.shows(field), "{}", list.body);
        };
        let page = format!("{REVOKE}?before={before}&search=key");
        shows_the_form_again(&scene.owner.get(&page).await);
        let fields = [("before", before), ("note", "incident"), ("confirm", "yes")];
        let page = format!("{REVOKE}?search=key");
        shows_the_form_again(&scene.owner.post(&page, &fields).await);
    }
    assert!(scene.works(&key).await);
}

#[tokio::test]
async fn incomplete_revocation_form_keeps_its_input_and_revokes_nothing() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "his").await;
    let name = format!("key-{}", key.key.id);
    let long = "x".repeat(201);
    for (note, confirm, said) in [
        ("why \"not\"", None, "Check the box to revoke."),
        ("", Some(("confirm", "yes")), "Reason must not be empty."),
        (
            &*long,
            Some(("confirm", "yes")),
            "Reason must be at most 200 characters long",
        ),
        ("", None, "Check the box to revoke."),
    ] {
        let mut fields = vec![(name.as_str(), "on"), ("note", note)];
        fields.extend(confirm);
        let page = scene.owner.post(REVOKE, &fields).await;
        assert_eq!(page.status, 422, "{note}");
        assert!(page.text().contains(said), "{said}: {}", page.text());
        assert_eq!(page.field(&name), "on");
    }
    assert!(scene.works(&key).await);
    for damaged in [
        &[("note", "x"), ("holder", "x")][..],
        &[("note", "x"), ("before", "soon")],
    ] {
        assert_eq!(scene.owner.post(REVOKE, damaged).await.status, 400);
    }
}

/// Their role ended while the form was on its way.
#[tokio::test]
async fn demoted_owner_posting_a_revocation_sees_404_without_key_names() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "his").await;
    let installation = &scene.running.installation;
    let mary = installation.member(&scene.ada.organization, "mary", Role::Owner);
    let authority = mary.as_authority(mary.membership.joined_at).unwrap();
    let origin = scene.running.public_url.to_string();
    let body = format!("key-{}=on&note=why", key.key.id);
    let answer = scene
        .owner
        .post_slowly(&origin, REVOKE, &body, async {
            let (ada, source) = (scene.ada.membership.id, RequestSource::default());
            let members = installation.members();
            let changed = members.change_role(&authority, ada, Role::Member, source);
            changed.await.unwrap();
        })
        .await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(!answer.contains("<bdi>his</bdi>"), "{answer}");
}

#[tokio::test]
async fn revocation_without_selection_shows_error_on_the_same_list() {
    let scene = Scene::new().await;
    scene.issue(&scene.bob, "his").await;
    let answer = scene.owner.get(&format!("{REVOKE}?status=all&search=his")).await;
    assert!(
        answer.location().starts_with(&format!("{ALL}?status=all&")),
        "{}",
        answer.location()
    );
    let list = scene.owner.follow(&answer).await;
    assert!(list.shows("<title>Error: Keys that match “his”, All valid and revoked keys · "));
    assert!(list.shows("role=\"alert\"") && list.text().contains("Select at least one key."));
    assert!(list.shows("value=\"his\"") && list.shows("autofocus"));
}

#[tokio::test]
async fn list_without_revocable_keys_has_no_checkboxes() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "his").await;
    assert!(scene.owner.get(ALL).await.shows("Revoke selected keys"));
    let (keep, source) = (DescendantKeys::Keep, RequestSource::default());
    let keys = scene.running.installation.keys();
    keys.revoke(
        &scene.bob.as_holder(),
        key.key.id,
        keep,
        KeyPrecondition::AnyVersion,
        source,
    )
    .await
    .unwrap();
    let revoked = scene.owner.get(&format!("{ALL}?status=revoked")).await;
    assert!(revoked.shows("his") && !revoked.shows("Revoke selected keys") && !revoked.shows("checkbox"));
}
