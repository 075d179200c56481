//! Ending a membership, and revoking keys, while what stops cannot be counted.

use std::num::NonZeroU32;
use std::sync::Arc;

use keyward_console::Console;
use keyward_domain::administration::ports::{
    MemberProfile, MockMemberStore, MockOrganizationKeyStore, RevokedBatch,
};
use keyward_domain::administration::{Members, OrganizationKeys};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::keys::PersonalKeys;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{DescendantKeys, KeyLimits, MockApiKeys, StorageError};
use keyward_domain::testing::TestInstallation;

use crate::running::{LIST, Running};

const MEMBERS: &str = "/organizations/acme/settings/members";
const LEAVE: &str = "/organizations/acme/settings/general/leave";
const CONFIRM: [(&str, &str); 1] = [("confirm", "yes")];

fn too_slow() -> StorageError {
    StorageError::Unavailable("counting takes too long".into())
}

/// A console in which grace can be looked up and her membership be ended, and everything that is counted is too slow.
async fn nothing_can_be_counted() -> (Running, Member) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    installation.member(&acme, "ada", Role::Owner);
    let grace = installation.member(&acme, "grace", Role::Member);
    let holder = MemberProfile {
        user: grace.user.clone(),
        membership: grace.membership.clone(),
    };
    let id = grace.membership.id;
    let mut members = MockMemberStore::new();
    members
        .expect_identify()
        .returning(move |_, _, _| Ok(Some(holder.clone())));
    members
        .expect_leaving_preview()
        .returning(|_, _, _, _| Err(too_slow()));
    members
        .expect_has_other_permanent_owner()
        .returning(|_, _| Err(too_slow()));
    members
        .expect_end()
        .withf(move |_, ended: &MembershipId, _| *ended == id)
        .once()
        .returning(|_, _, _| Ok(()));
    let sources = installation.builder.sources.clone();
    let down = TestInstallation::new();
    down.store.go_down();
    let slow = |console: &mut Console| {
        console.members = Members::new(Arc::new(members), Arc::new(down.store.clone()), sources);
        console.invitations = down.invitations();
        console.organization_keys = down.organization_keys();
        console.reachable_projects = Arc::new(down.store.clone());
    };
    (Running::with(installation, None, slow).await, grace)
}

#[tokio::test]
async fn owner_removes_member_although_keys_cannot_be_counted() {
    let (running, grace) = nothing_can_be_counted().await;
    let path = format!("{MEMBERS}/{}/remove", grace.membership.id);
    let browser = running.signed_in("ada").await;
    let shown = browser.get(&path).await;
    let unticked = browser.post(&path, &[]).await;
    for (page, status) in [(shown, 200), (unticked, 422)] {
        let text = page.text();
        assert_eq!(page.status, status, "{text}");
        for words in [
            "All keys will stop working They can’t be counted right now.",
            "They will leave all projects They can’t be counted right now.",
            "Open invitations will be revoked They can’t be counted right now.",
            "Invitations may still be open They can’t be counted right now.",
            "Remove member",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let all = format!("href=\"{LIST}/all?holder={}\"", grace.membership.id);
        assert!(page.shows(&all) && !text.contains("too long"), "{}", page.body);
    }
    assert_eq!(browser.post(&path, &CONFIRM).await.status, 303);
}

#[tokio::test]
async fn member_leaves_although_own_keys_cannot_be_counted() {
    let (running, _) = nothing_can_be_counted().await;
    let browser = running.signed_in("grace").await;
    let page = browser.get(LEAVE).await;
    let text = page.text();
    assert_eq!(page.status, 200, "{text}");
    assert!(
        text.contains("All keys will stop working They can’t be counted right now."),
        "{text}"
    );
    assert!(text.contains("You will leave all projects"), "{text}");
    assert!(page.shows(&format!("href=\"{LIST}\">See all keys</a>")));
    assert_eq!(browser.post(LEAVE, &CONFIRM).await.status, 303);
}

/// A console of ada's in which `change` makes a store of keys that can revoke this one, and count nothing.
async fn keys_can_only_be_revoked(change: impl FnOnce(&mut Console, &TestInstallation, ApiKey)) -> Running {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    let (new, _) = installation.builder.new_key(&ada.as_holder(), "Laptop");
    let for_keys = TestInstallation::new();
    Running::with(installation, None, |console| change(console, &for_keys, new.key)).await
}

#[tokio::test]
async fn owner_revokes_keys_although_the_preview_fails() {
    let id: ApiKeyId = TestInstallation::new().builder.ids.next();
    let running = keys_can_only_be_revoked(|console, installation, _| {
        let mut keys = MockOrganizationKeyStore::new();
        keys.expect_revocation_preview()
            .returning(|_, _, _| Err(too_slow()));
        keys.expect_revoke().once().returning(move |_, _, _, _, _, _| {
            Ok(RevokedBatch {
                keys: vec![id],
                is_last: true,
            })
        });
        let keys = OrganizationKeys::new(Arc::new(keys), installation.builder.sources.clone());
        console.organization_keys = keys.with_batch_size(NonZeroU32::new(2).unwrap());
    })
    .await;
    let browser = running.signed_in("ada").await;
    let path = format!("{LIST}/all/revoke");
    let key = format!("key-{id}");
    let shown = browser.get(&format!("{path}?{key}=on")).await;
    let unticked = browser
        .post(&path, &[(&key, "on"), ("note", "Found in a log")])
        .await;
    for (page, status) in [(shown, 200), (unticked, 422)] {
        let text = page.text();
        assert_eq!(page.status, status, "{text}");
        for words in [
            "Revoke this key?",
            "Keys created with it can’t be counted right now.",
            "Also revoke the valid keys created with it",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(
            page.field(&key) == "on" && !text.contains("too long"),
            "{}",
            page.body
        );
    }
    for (query, words) in [
        (
            format!("holder={}", MembershipId::from_uuid(id.as_uuid())),
            "Revoke all valid keys of this user?",
        ),
        (
            "before=2020-01-31T13:45".to_owned(),
            "Revoke all valid keys created before 31 January 2020",
        ),
    ] {
        let page = browser.get(&format!("{path}?{query}")).await;
        let text = page.text();
        assert!(
            text.contains(words) && text.contains("They can’t be counted right now."),
            "{text}"
        );
        assert!(!text.contains("made from"), "{text}");
    }
    let confirmed = [
        (key.as_str(), "on"),
        ("note", "Found in a log"),
        ("confirm", "yes"),
    ];
    assert_eq!(browser.post(&path, &confirmed).await.status, 303);
}

#[tokio::test]
async fn holder_revokes_key_although_descendants_cannot_be_counted() {
    let mut path = String::new();
    let running = keys_can_only_be_revoked(|console, installation, key| {
        let id = key.id;
        path = format!("{LIST}/{id}/revoke");
        let mut keys = MockApiKeys::new();
        keys.expect_find().returning(move |_, _| Ok(Some(key.clone())));
        keys.expect_valid_descendants()
            .returning(|_, _, _| Err(too_slow()));
        keys.expect_revoke()
            .withf(|_, _, _, descendants, _, _| *descendants == DescendantKeys::Revoke)
            .once()
            .returning(move |_, _, _, _, _, _| Ok(vec![id]));
        let sources = installation.builder.sources.clone();
        console.keys = PersonalKeys::new(Arc::new(keys), sources, KeyLimits::default());
    })
    .await;
    let browser = running.signed_in("ada").await;
    let shown = browser.get(&path).await;
    let unticked = browser.post(&path, &[]).await;
    for (page, status) in [(shown, 200), (unticked, 422)] {
        let text = page.text();
        assert_eq!(page.status, status, "{text}");
        for words in [
            "Revoke “Laptop”?",
            "Other keys may have been created with this key They can’t be counted right now.",
            "Also revoke them",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("too long"), "{}", page.body);
    }
    let confirmed = [("descendants", "revoke"), ("confirm", "yes")];
    assert_eq!(browser.post(&path, &confirmed).await.status, 303);
}
