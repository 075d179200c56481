//! The list of members, for owners.

mod removing;
mod roles;

use chrono::TimeDelta;
use keyward_domain::clock::Clock;
use keyward_domain::membership::{Member, Role};

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

/// The form with its tick.
fn role_form(role: &str) -> [(&'static str, &str); 2] {
    [("role", role), ("confirm", "yes")]
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
async fn owner_sees_members_with_role_keys_and_projects() {
    let (running, browser, _, grace) = ada_and_grace().await;
    running.installation.issue(&grace.as_holder(), "Laptop").await;
    let page = browser.get(MEMBERS).await;
    assert_eq!(page.status, 200);
    let (_, row) = page.body.split_once("<bdi>grace</bdi>").expect("a row");
    let row = row.split_once("</tr>").unwrap().0;
    assert!(row.contains("data-label=\"Role\">Member") && row.contains("data-label=\"Valid keys\">1<"));
    assert!(page.text().contains("2 members") && page.text().contains("(you)"));
    assert!(browser.get(LIST).await.shows(&format!("href=\"{MEMBERS}\"")));
    let member = running.signed_in("grace").await;
    assert!(!member.get(LIST).await.shows(&format!("href=\"{MEMBERS}\"")));
}

#[tokio::test]
async fn members_are_searched_by_name_and_paginated() {
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
    assert!(none.shows("No members match") && !none.shows("<script>"));
    assert_eq!(browser.get(&format!("{MEMBERS}?after=x")).await.status, 400);
}

/// S13, S14, S18: for a member, an owner of another organization, a former owner and a visitor who is not
/// signed in.
#[tokio::test]
async fn only_owners_of_the_organization_manage_members() {
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
async fn demotion_warns_of_and_revokes_the_owners_invitations() {
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
            .contains("1 open invitation that they created will be revoked")
    );
    let page = other.get(&role_path(&grace)).await;
    assert!(
        page.text()
            .contains("1 open invitation that you created will be revoked")
    );
    for leaving in [
        browser.get(&remove_path(&grace)).await,
        other.get("/organizations/acme/settings/general/leave").await,
    ] {
        assert!(
            leaving.text().contains("1 invitation will be revoked"),
            "{}",
            leaving.text()
        );
    }
    browser
        .post(&role_path(&grace), &[("role", "member"), ("confirm", "yes")])
        .await;
    assert_eq!(running.visitor().open(&first).await.status, 404);

    browser
        .post(&role_path(&grace), &[("role", "owner"), ("confirm", "yes")])
        .await;
    let second = invitation(&other, "A friend", "owner").await;
    invitation(&other, "Another", "member").await;
    let page = browser.get(&remove_path(&grace)).await;
    assert!(
        page.text().contains("2 invitations will be revoked"),
        "{}",
        page.text()
    );
    browser.post(&remove_path(&grace), &CONFIRM).await;
    assert_eq!(running.visitor().open(&second).await.status, 404);
    let token = second.split_once("token=").unwrap().1;
    let as_grace = [("token", token), ("as", "user"), ("username", "grace")];
    let back = other.post("/join", &as_grace).await;
    assert_eq!(back.status, 404);
    assert_eq!(other.get(MEMBERS).await.status, 404);
    assert!(browser.get(INVITATIONS).await.shows("No pending invitations"));
}
