//! Ending a membership while what stops cannot be counted.

use std::sync::Arc;

use keyward_console::Console;
use keyward_domain::administration::Members;
use keyward_domain::administration::ports::{KeyHolder, MockMemberStore};
use keyward_domain::id::MembershipId;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::StorageError;
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
    let holder = KeyHolder {
        user: grace.user.clone(),
        membership: grace.membership.clone(),
    };
    let id = grace.membership.id;
    let mut members = MockMemberStore::new();
    members
        .expect_identify()
        .returning(move |_, _| Ok(Some(holder.clone())));
    members
        .expect_leaving_preview()
        .returning(|_, _, _| Err(too_slow()));
    members.expect_has_one_owner().returning(|_| Err(too_slow()));
    members
        .expect_end()
        .withf(move |_, ended: &MembershipId, _| *ended == id)
        .once()
        .returning(|_, _, _| Ok(()));
    let sources = installation.builder.sources.clone();
    let down = TestInstallation::new();
    down.store.go_down();
    let slow = |console: &mut Console| {
        console.members = Members::new(Arc::new(members), sources);
        console.invitations = down.invitations();
        console.organization_keys = down.organization_keys();
        console.reachable_projects = Arc::new(down.store.clone());
    };
    (Running::with(installation, None, slow).await, grace)
}

#[tokio::test]
async fn owner_removes_member_whose_keys_cannot_be_counted() {
    let (running, grace) = nothing_can_be_counted().await;
    let path = format!("{MEMBERS}/{}/remove", grace.membership.id);
    let browser = running.signed_in("ada").await;
    let shown = browser.get(&path).await;
    let unticked = browser.post(&path, &[]).await;
    for (page, status) in [(shown, 200), (unticked, 422)] {
        let text = page.text();
        assert_eq!(page.status, status, "{text}");
        for words in [
            "All keys stop working They cannot be counted now.",
            "They leave all projects These cannot be counted now.",
            "Open invitations are taken back They cannot be counted now.",
            "Invitations may still be open They cannot be counted now.",
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
async fn member_leaves_while_own_keys_cannot_be_counted() {
    let (running, _) = nothing_can_be_counted().await;
    let browser = running.signed_in("grace").await;
    let page = browser.get(LEAVE).await;
    let text = page.text();
    assert_eq!(page.status, 200, "{text}");
    assert!(
        text.contains("All keys stop working They cannot be counted now."),
        "{text}"
    );
    assert!(text.contains("You leave all projects"), "{text}");
    assert!(page.shows(&format!("href=\"{LIST}\">See all keys</a>")));
    assert_eq!(browser.post(LEAVE, &CONFIRM).await.status, 303);
}
