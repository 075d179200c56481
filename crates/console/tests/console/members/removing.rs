//! Removing members.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::administration::OrganizationKeys;
use keyward_domain::administration::ports::MockOrganizationKeyStore;
use keyward_domain::api_key::{KeyPrecondition, LastUse};
use keyward_domain::clock::Clock;
use keyward_domain::invitation::Invitation;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::Role;
use keyward_domain::ports::{KeyUse, LastUses};
use keyward_domain::testing::TestInstallation;

use super::{CONFIRM, MEMBERS, ada_and_grace, path, remove_path, role_form, role_path};
use crate::invitations::{INVITATIONS, invitation};
use crate::running::{LIST, Running};

#[tokio::test]
async fn member_removed_twice_is_reported_as_removed() {
    let (_running, browser, _, grace) = ada_and_grace().await;
    assert_eq!(
        browser.post(&remove_path(&grace), &CONFIRM).await.location(),
        MEMBERS
    );
    let again = browser.post(&remove_path(&grace), &CONFIRM).await;
    assert_eq!(again.status, 404);
    assert!(again.text().contains("is no longer a member"), "{}", again.text());
}

#[tokio::test]
async fn removal_page_shows_valid_keys_with_their_key_trees() {
    let (running, browser, _, grace) = ada_and_grace().await;
    let installation = &running.installation;
    let parent = installation.issue(&grace.as_holder(), "Parent").await;
    let parent_caller = installation.caller(&parent).await;
    installation.issue(&grace.as_holder(), "Newer").await;
    let child = installation.issue(&parent_caller.as_holder(), "<b>Child").await;
    let revoked = installation.issue(&grace.as_holder(), "Gone").await;
    let orphan = {
        let caller = installation.caller(&revoked).await;
        installation.issue(&caller.as_holder(), "Orphan").await
    };
    let keys = installation.keys();
    let keep = keyward_domain::ports::DescendantKeys::Keep;
    let source = keyward_domain::audit::RequestSource::default();
    keys.revoke(
        &grace.as_holder(),
        revoked.key.id,
        keep,
        KeyPrecondition::AnyVersion,
        source,
    )
    .await
    .unwrap();
    let page = browser.get(&remove_path(&grace)).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("4 keys will stop working"), "{text}");
    for key in [&parent.key, &child.key, &orphan.key] {
        assert!(text.contains(key.hint.as_str()), "{text}");
    }
    let parent_at = text.find("Parent").unwrap();
    let child_at = text.find(&format!("by key Parent {}", parent.key.hint)).unwrap();
    let newer_at = text.find("Newer").unwrap();
    assert!(newer_at < parent_at && parent_at < child_at, "{text}");
    assert!(text.contains(&format!("by key Gone {}", revoked.key.hint)));
    assert!(page.shows("&#60;b&#62;Child") && page.tokens().is_empty());
    assert!(page.shows(&format!("href=\"{}\">Cancel", path(&grace))));
    assert!(
        installation
            .authenticate()
            .caller(child.token.expose(), None)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn removal_page_lists_recently_used_key_trees_first() {
    let (running, _, _, grace) = ada_and_grace().await;
    let installation = &running.installation;
    let parent = installation.issue(&grace.as_holder(), "Old parent").await;
    let caller = installation.caller(&parent).await;
    let child = installation.issue(&caller.as_holder(), "Busy child").await;
    let idle = installation.issue(&grace.as_holder(), "Idle").await;
    for number in 0..30 {
        installation
            .issue(&grace.as_holder(), &format!("Never {number}"))
            .await;
    }
    installation.builder.clock.advance(TimeDelta::days(10));
    let now = installation.builder.clock.now();
    let used = |key: &IssuedKey, days| KeyUse {
        key: key.key.id,
        last: LastUse {
            at: now - TimeDelta::days(days),
            from: None,
        },
    };
    let uses = vec![used(&child, 1), used(&idle, 8)];
    let now = installation.builder.clock.now();
    installation.store.record(uses, now).await.unwrap();
    let browser = running.signed_in("ada").await;
    let text = browser.get(&remove_path(&grace)).await.text();
    assert!(text.contains("33 keys will stop working"), "{text}");
    assert!(text.contains("1 of them was used in the last 7 days."), "{text}");
    let places: Vec<usize> = [
        "Old parent",
        "Busy child",
        "Idle",
        "Never 29",
        "8 more, not used in the last 7 days",
        "Never 0 ",
    ]
    .iter()
    .map(|words| text.find(words).expect(words))
    .collect();
    assert!(places.is_sorted(), "{text}");
}

#[tokio::test]
async fn removal_page_lists_50_recently_used_keys_and_links_all() {
    let installation = TestInstallation::new();
    let sources = installation.builder.sources.clone();
    // Every list of keys fails.
    let no_lists = Arc::new(MockOrganizationKeyStore::new());
    let running = Running::with(installation, None, |console| {
        console.organization_keys = OrganizationKeys::new(no_lists, sources);
    })
    .await;
    let installation = &running.installation;
    let acme = installation.organization("Acme");
    installation.member(&acme, "ada", Role::Owner);
    let grace = installation.member(&acme, "grace", Role::Member);
    let issue = async |numbers: std::ops::Range<u32>| {
        let mut issued = Vec::new();
        for number in numbers {
            let name = format!("Key {number:02}");
            issued.push(installation.issue(&grace.as_holder(), &name).await);
        }
        issued
    };
    let last = LastUse {
        at: installation.builder.clock.now(),
        from: Some([203, 0, 113, 7].into()),
    };
    let uses = issue(0..3).await.into_iter().map(|key| KeyUse {
        key: key.key.id,
        last,
    });
    let now = installation.builder.clock.now();
    installation.store.record(uses.collect(), now).await.unwrap();
    issue(3..60).await;
    let browser = running.signed_in("ada").await;
    let page = browser.get(&remove_path(&grace)).await;
    let text = page.text();
    assert!(text.contains("60 keys will stop working"), "{text}");
    assert!(text.contains("3 of them were used in the last 7 days."), "{text}");
    let shown = (0..60).filter(|number| text.contains(&format!("Key {number:02} ")));
    let expected = (0..3).chain(13..60);
    assert!(shown.eq(expected), "{text}");
    assert!(text.contains("from 203.0.113.0/24") && !text.contains("203.0.113.7"));
    assert!(
        text.contains("The 50 keys used most recently are shown. See all 60 keys"),
        "{text}"
    );
    let all = format!("{LIST}/all?holder={}\">See all 60 keys</a>", grace.membership.id);
    assert!(page.shows(&all), "{}", page.body);

    // However many more there are, the page grows no longer.
    issue(60..99).await;
    let larger = browser.get(&remove_path(&grace)).await;
    assert!(larger.text().contains("99 keys will stop working"));
    assert_eq!(larger.body.len(), page.body.len());
}

#[tokio::test]
async fn recently_used_key_is_not_collapsed_in_a_large_tree() {
    let (running, _, _, grace) = ada_and_grace().await;
    let installation = &running.installation;
    let small = installation.issue(&grace.as_holder(), "Small but busy").await;
    let parent = installation.issue(&grace.as_holder(), "Parent of many").await;
    let caller = installation.caller(&parent).await;
    for number in 0..40 {
        installation
            .issue(&caller.as_holder(), &format!("Child {number}"))
            .await;
    }
    installation.issue(&grace.as_holder(), "Never").await;
    let now = installation.builder.clock.now();
    let used = |key: &IssuedKey, hours| KeyUse {
        key: key.key.id,
        last: LastUse {
            at: now - TimeDelta::hours(hours),
            from: None,
        },
    };
    let uses = vec![used(&parent, 1), used(&small, 2)];
    let now = installation.builder.clock.now();
    installation.store.record(uses, now).await.unwrap();
    let browser = running.signed_in("ada").await;
    let text = browser.get(&remove_path(&grace)).await.text();
    let (in_sight, folded) = text
        .split_once("1 more, not used in the last 7 days")
        .expect(&text);
    assert!(
        in_sight.contains("Small but busy") && folded.contains("Never"),
        "{text}"
    );
}

#[tokio::test]
async fn removal_page_warns_of_invitations_that_stay_open() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Owner);
    let browser = running.signed_in("ada").await;
    let told = async |words: &str| {
        let page = browser.get(&remove_path(&grace)).await;
        (
            page.text().contains(words),
            page.shows(&format!("href=\"{INVITATIONS}\">Review")),
        )
    };
    let hers = running.signed_in("grace").await;
    invitation(&hers, "Her own", "member").await;
    assert_eq!(told("still open").await, (false, false), "it is revoked");
    invitation(&browser, "Somebody", "member").await;
    assert_eq!(told("1 invitation is still open").await, (true, true));
    invitation(&browser, "Somebody else", "owner").await;
    assert_eq!(told("2 invitations are still open").await, (true, true));
    running.installation.builder.clock.advance(Invitation::LIFETIME);
    let browser = running.signed_in("ada").await;
    let page = browser.get(&remove_path(&grace)).await;
    assert!(page.status == 200 && !page.text().contains("still open"));
}

#[tokio::test]
async fn removal_requires_confirmation_and_ends_keys_and_access_immediately() {
    let (running, browser, _, grace) = ada_and_grace().await;
    let installation = &running.installation;
    let key = installation.issue(&grace.as_holder(), "Laptop").await;
    let other = installation.organization("Other");
    let second = installation.builder.membership(&other, &grace.user, Role::Owner);
    installation.store.put_membership(second);
    let member = running.signed_in("grace").await;
    let page = browser.post(&remove_path(&grace), &[]).await;
    assert!(page.status == 422 && page.shows("Check the box to remove them."));
    assert_eq!(member.get(LIST).await.status, 200);

    let answer = browser.post(&remove_path(&grace), &CONFIRM).await;
    let list = browser.follow(&answer).await;
    assert!(
        list.text()
            .contains("grace was removed and no longer has access.")
    );
    assert!(!list.shows(&path(&grace)));
    assert!(
        installation
            .authenticate()
            .caller(key.token.expose(), None)
            .await
            .is_err()
    );
    assert_eq!(member.get(LIST).await.status, 404);
    assert_eq!(
        member.get("/organizations/other/settings/members").await.status,
        200
    );
    for answer in [
        browser.get(&path(&grace)).await,
        browser.get(&remove_path(&grace)).await,
        browser.post(&remove_path(&grace), &CONFIRM).await,
        browser.post(&role_path(&grace), &role_form("owner")).await,
    ] {
        assert_eq!(answer.status, 404);
    }
}

#[tokio::test]
async fn removing_oneself_redirects_to_leaving() {
    let (_running, browser, ada, grace) = ada_and_grace().await;
    let leave = "/organizations/acme/settings/general/leave";
    browser.post(&role_path(&grace), &role_form("owner")).await;
    assert!(browser.get(&path(&ada)).await.shows(leave));
    for answer in [
        browser.get(&remove_path(&ada)).await,
        browser.post(&remove_path(&ada), &CONFIRM).await,
    ] {
        assert_eq!((answer.status, answer.location()), (303, leave));
    }
    assert_eq!(browser.get(MEMBERS).await.status, 200);
}
