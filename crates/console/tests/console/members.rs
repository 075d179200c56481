use chrono::TimeDelta;
use keyward_domain::api_key::LastUse;
use keyward_domain::clock::Clock;
use keyward_domain::invitation::Invitation;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{KeyUse, LastUses};

use crate::browser::Browser;
use crate::invitations::{INVITATIONS, invitation};
use crate::running::{LIST, Running};

const MEMBERS: &str = "/organizations/acme/settings/members";
const CONFIRM: [(&str, &str); 1] = [("confirm", "yes")];

fn path(member: &Member) -> String {
    format!("{MEMBERS}/{}", member.membership.id)
}

fn role_path(member: &Member) -> String {
    format!("{}/role", path(member))
}

fn remove_path(member: &Member) -> String {
    format!("{}/remove", path(member))
}

/// With the owner `ada`, in her browser, and the member `grace`.
async fn ada_and_grace() -> (Running, Browser, Member, Member) {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let browser = running.signed_in("ada").await;
    (running, browser, ada, grace)
}

#[tokio::test]
async fn owners_see_who_belongs_with_role_keys_and_projects() {
    let (running, browser, _, grace) = ada_and_grace().await;
    running.installation.issue(&grace.as_holder(), "Laptop").await;
    let page = browser.get(MEMBERS).await;
    assert_eq!(page.status, 200);
    let (_, row) = page.body.split_once("<bdi>grace</bdi>").expect("a row");
    let row = row.split_once("</tr>").unwrap().0;
    assert!(row.contains("data-label=\"Role\">member") && row.contains("data-label=\"Valid keys\">1<"));
    assert!(page.text().contains("2 members, who joined last first") && page.text().contains("(you)"));
    assert!(browser.get(LIST).await.shows(&format!("href=\"{MEMBERS}\"")));
    let member = running.signed_in("grace").await;
    assert!(!member.get(LIST).await.shows(&format!("href=\"{MEMBERS}\"")));
}

#[tokio::test]
async fn members_are_found_by_name_and_come_page_by_page() {
    let (running, browser, ada, _) = ada_and_grace().await;
    for number in 0..60 {
        running.installation.builder.clock.advance(TimeDelta::seconds(1));
        let username = format!("person-{number:02}");
        running
            .installation
            .member(&ada.organization, &username, Role::Member);
    }
    let first = browser.get(MEMBERS).await;
    assert!(first.shows("The 50 newest members") && first.shows("person-59") && !first.shows("person-09"));
    let (before, _) = first.body.split_once("\" rel=\"next\"").unwrap();
    let second = browser.get(before.rsplit_once("href=\"").unwrap().1).await;
    assert!(second.shows("person-09") && second.shows("<bdi>grace</bdi>") && !second.shows("person-10"));
    let found = browser.get(&format!("{MEMBERS}?search=PERSON-07")).await;
    assert!(found.shows("person-07") && !found.shows("person-08"));
    let none = browser.get(&format!("{MEMBERS}?search=%3Cscript%3E")).await;
    assert!(none.shows("No member matches") && !none.shows("<script>"));
    assert_eq!(browser.get(&format!("{MEMBERS}?after=x")).await.status, 400);
}

/// The form with its tick.
fn role_form(role: &str) -> [(&'static str, &str); 2] {
    [("role", role), ("confirm", "yes")]
}

#[tokio::test]
async fn before_a_role_is_changed_the_owner_reads_what_it_means_and_ticks_a_box() {
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
            .contains("can see and revoke everybody’s keys in Acme"),
        "{}",
        page.text()
    );
    assert!(page.text().contains("you included") && page.shows(&format!("href=\"{}\">Cancel", path(&grace))));
    let events = running.installation.store.events().len();
    let unticked = browser.post(&role_path(&grace), &[("role", "owner")]).await;
    assert_eq!(unticked.status, 422);
    assert!(
        unticked
            .text()
            .contains("Tick the box to change the role. Nothing was changed.")
    );
    assert_eq!(running.installation.store.events().len(), events);

    browser.post(&role_path(&grace), &role_form("owner")).await;
    let page = browser.get(&role_path(&grace)).await;
    assert!(
        page.text().contains("Make “grace” a plain member?"),
        "{}",
        page.text()
    );
    let own = browser.get(&role_path(&ada)).await;
    assert!(
        own.text()
            .contains("Only another owner can make you an owner again."),
        "{}",
        own.text()
    );
}

#[tokio::test]
async fn a_role_is_changed_there_and_back_and_takes_effect_at_once() {
    let (running, browser, _, grace) = ada_and_grace().await;
    let member = running.signed_in("grace").await;
    for (role, said, status) in [("owner", "an owner now", 200), ("member", "a member now", 404)] {
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
async fn an_owner_may_step_back_if_another_is_there_and_else_is_told_why_not() {
    let (running, browser, ada, grace) = ada_and_grace().await;
    let hers = format!("{MEMBERS}/{}", ada.membership.id);
    let beforehand = browser.get(&hers).await;
    assert!(
        beforehand
            .text()
            .contains("You are the only owner, and an organization needs one.")
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
    assert!(
        general
            .text()
            .contains("You are a member now, and no owner any more.")
    );
    assert_eq!(browser.get(MEMBERS).await.status, 404);
    assert_eq!(running.signed_in("grace").await.get(MEMBERS).await.status, 200);
}

#[tokio::test]
async fn before_a_removal_the_owner_sees_the_keys_with_their_families_that_stop() {
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
    keys.revoke(&grace.as_holder(), revoked.key.id, keep, source)
        .await
        .unwrap();
    let page = browser.get(&remove_path(&grace)).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("4 keys stop working"), "{text}");
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
async fn what_was_used_lately_comes_first_with_its_family_and_long_lists_are_unfolded() {
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
    installation.store.record(uses).await.unwrap();
    let browser = running.signed_in("ada").await;
    let text = browser.get(&remove_path(&grace)).await.text();
    assert!(text.contains("33 keys stop working"), "{text}");
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
async fn no_key_that_was_used_lately_is_folded_away_below_a_large_family() {
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
    installation.store.record(uses).await.unwrap();
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
async fn before_a_removal_the_owner_is_told_of_the_invitations_that_stay_open() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Owner);
    let browser = running.signed_in("ada").await;
    let told = async |words: &str| {
        let page = browser.get(&remove_path(&grace)).await;
        (
            page.text().contains(words),
            page.shows(&format!("href=\"{INVITATIONS}\">Look through")),
        )
    };
    let hers = running.signed_in("grace").await;
    invitation(&hers, "Her own", "member").await;
    assert_eq!(told("still open").await, (false, false), "it is taken back");
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
async fn a_removal_needs_a_deliberate_act_and_then_ends_keys_and_pages_at_once() {
    let (running, browser, _, grace) = ada_and_grace().await;
    let installation = &running.installation;
    let key = installation.issue(&grace.as_holder(), "Laptop").await;
    let other = installation.organization("Other");
    let second = installation.builder.membership(&other, &grace.user, Role::Owner);
    installation.store.put_membership(second);
    let member = running.signed_in("grace").await;
    let page = browser.post(&remove_path(&grace), &[]).await;
    assert!(page.status == 422 && page.shows("Tick the box to remove them."));
    assert_eq!(member.get(LIST).await.status, 200);

    let answer = browser.post(&remove_path(&grace), &CONFIRM).await;
    let list = browser.follow(&answer).await;
    assert!(
        list.text()
            .contains("grace was removed. Their keys are refused from now on.")
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
async fn a_link_cannot_claim_that_somebody_was_removed() {
    let (_running, browser, _, grace) = ada_and_grace().await;
    let list = browser
        .get(&format!("{MEMBERS}?removed={}", grace.membership.id))
        .await;
    assert!(!list.shows("was removed"));
    assert_eq!(browser.get(&format!("{MEMBERS}?removed=x")).await.status, 200);
}

#[tokio::test]
async fn to_remove_oneself_is_to_leave() {
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

/// S13, S14, S18: for a member, an owner of another organization, a former owner and nobody alike.
#[tokio::test]
async fn only_owners_of_the_organization_see_and_change_its_members() {
    let (running, _, ada, grace) = ada_and_grace().await;
    let installation = &running.installation;
    let other = installation.organization("Other");
    installation.member(&other, "olga", Role::Owner);
    let former = installation.member(&ada.organization, "former", Role::Owner);
    let former_browser = running.signed_in("former").await;
    installation
        .store
        .end_membership(former.membership.id, installation.builder.clock.now());
    let key = installation.issue(&grace.as_holder(), "Laptop").await;
    let browsers = [
        running.signed_in("grace").await,
        running.signed_in("olga").await,
        former_browser,
    ];
    let events = installation.store.events().len();
    let unknown: keyward_domain::id::MembershipId = installation.builder.ids.next();
    for browser in &browsers {
        let mut pages = Vec::new();
        for slug in ["acme", "other"] {
            for id in [
                grace.membership.id.to_string(),
                ada.membership.id.to_string(),
                unknown.to_string(),
                "x".to_owned(),
            ] {
                let member = format!("/organizations/{slug}/settings/members/{id}");
                for answer in [
                    browser.get(&member).await,
                    browser.get(&format!("{member}/remove")).await,
                    browser.post(&format!("{member}/remove"), &CONFIRM).await,
                    browser.post(&format!("{member}/role"), &role_form("owner")).await,
                    browser
                        .post(&format!("{member}/role"), &role_form("member"))
                        .await,
                ] {
                    assert_eq!(answer.status, 404, "{member}");
                    pages.push(answer.body.replace(answer.header("x-request-id"), ""));
                }
            }
        }
        assert!(pages.iter().all(|page| *page == pages[0]));
        assert_eq!(browser.get(MEMBERS).await.status, 404);
    }
    for path in [role_path(&grace), remove_path(&grace)] {
        let answer = running.visitor().post(&path, &CONFIRM).await;
        assert!(answer.location().starts_with("/sign-in"));
    }
    assert_eq!(installation.store.events().len(), events, "nothing was changed");
    assert!(
        installation
            .authenticate()
            .caller(key.token.expose(), None)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn the_invitations_of_an_owner_are_taken_back_with_the_role_and_told_before() {
    let (running, browser, _, grace) = ada_and_grace().await;
    browser
        .post(&role_path(&grace), &[("role", "owner"), ("confirm", "yes")])
        .await;
    let other = running.signed_in("grace").await;
    let first = invitation(&other, "A friend", "owner").await;
    let list = browser.get(INVITATIONS).await;
    assert!(list.text().contains("by grace"), "{}", list.text());
    let page = browser.get(&role_path(&grace)).await;
    assert!(
        page.text()
            .contains("1 open invitation that they made is taken back")
    );
    let page = other.get(&role_path(&grace)).await;
    assert!(
        page.text()
            .contains("1 open invitation that you made is taken back")
    );
    for leaving in [
        browser.get(&remove_path(&grace)).await,
        other.get("/organizations/acme/settings/general/leave").await,
    ] {
        assert!(
            leaving.text().contains("1 invitation is taken back"),
            "{}",
            leaving.text()
        );
    }
    browser
        .post(&role_path(&grace), &[("role", "member"), ("confirm", "yes")])
        .await;
    assert_eq!(running.visitor().get(&first).await.status, 404);

    browser
        .post(&role_path(&grace), &[("role", "owner"), ("confirm", "yes")])
        .await;
    let second = invitation(&other, "A friend", "owner").await;
    invitation(&other, "Another", "member").await;
    let page = browser.get(&remove_path(&grace)).await;
    assert!(
        page.text().contains("2 invitations are taken back"),
        "{}",
        page.text()
    );
    browser.post(&remove_path(&grace), &CONFIRM).await;
    assert_eq!(running.visitor().get(&second).await.status, 404);
    let token = second.split_once("token=").unwrap().1;
    let as_grace = [("token", token), ("as", "user"), ("username", "grace")];
    let back = other.post("/join", &as_grace).await;
    assert_eq!(back.status, 404);
    assert_eq!(other.get(MEMBERS).await.status, 404);
    assert!(browser.get(INVITATIONS).await.shows("Nobody is invited"));
}
