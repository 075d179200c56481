use chrono::TimeDelta;
use keyward_domain::administration::InvitationDraft;
use keyward_domain::audit::RequestSource;
use keyward_domain::invitation::{Invitation, Invitee};
use keyward_domain::membership::Role;

use crate::browser::{Answer, Browser};
use crate::running::Running;

pub(crate) const INVITE: &str = "/organizations/acme/settings/members/invite";
pub(crate) const INVITATIONS: &str = "/organizations/acme/settings/members/invitations";

/// The answer to the form.
async fn invite(owner: &Browser, invitee: &str, role: &str) -> Answer {
    let idempotency_key = owner.get(INVITE).await.field("idempotency_key").to_owned();
    send(owner, &idempotency_key, invitee, role).await
}

async fn send(owner: &Browser, idempotency_key: &str, invitee: &str, role: &str) -> Answer {
    let fields = [
        ("idempotency_key", idempotency_key),
        ("invitee", invitee),
        ("role", role),
    ];
    owner.post(INVITE, &fields).await
}

/// The path that an owner's new link leads to.
pub(crate) async fn invitation(owner: &Browser, invitee: &str, role: &str) -> String {
    let page = invite(owner, invitee, role).await;
    assert_eq!(page.status, 200, "{}", page.body);
    let (_, link) = page
        .body
        .split_once("id=\"link\" class=\"mono\" value=\"")
        .unwrap();
    let link = link.split_once('"').unwrap().0;
    let path = link.split_once("/join?").expect("a link").1;
    format!("/join?{path}")
}

fn revoke_path(list: &Answer) -> String {
    let (_, path) = list.body.split_once(&format!("href=\"{INVITATIONS}/")).unwrap();
    format!("{INVITATIONS}/{}", path.split_once('"').unwrap().0)
}

#[tokio::test]
async fn created_invitation_link_is_shown_once_with_its_expiry() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    let page = invite(&owner, " Grace <script> ", "member").await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    assert!(page.shows("Grace &#60;script&#62;</bdi>") && page.shows("It cannot be shown again."));
    let expected = format!("value=\"{}/join?token=", running.public_url);
    assert!(page.shows(&expected), "{}", page.body);
    assert!(page.shows("The link works once and expires <time datetime="));
    assert!(page.shows(&format!("data-instead=\"{INVITATIONS}\"")));
    let (_, secret) = page.body.split_once("/join?token=").unwrap();
    let secret = secret.split_once('"').unwrap().0.to_owned();
    for path in ["/organizations/acme/settings/members", INVITATIONS, INVITE] {
        assert!(!owner.get(path).await.shows(&secret), "{path}");
    }
}

#[tokio::test]
async fn repeated_invitation_form_invites_once_and_shows_no_link() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    let idempotency_key = owner.get(INVITE).await.field("idempotency_key").to_owned();
    assert_eq!(
        send(&owner, &idempotency_key, "Grace", "member").await.status,
        200
    );
    for invitee in ["Grace", "somebody else"] {
        let again = send(&owner, &idempotency_key, invitee, "member").await;
        assert!(again.location().starts_with(INVITATIONS), "{}", again.location());
        let list = owner.follow(&again).await;
        assert!(
            list.text()
                .contains("was already created, and no second one was made"),
            "{}",
            list.body
        );
        assert!(
            list.shows("1 invitation") && !list.shows("/join?token="),
            "{}",
            list.body
        );
    }
    let twice = [
        invite(&owner, "Grace", "member").await,
        invite(&owner, "Grace", "member").await,
    ];
    assert!(
        twice.iter().all(|page| page.status == 200),
        "each showing of the form invites"
    );
    assert_eq!(send(&owner, "damaged", "Grace", "member").await.status, 400);
}

#[tokio::test]
async fn invitation_beyond_the_limit_is_refused_with_the_form_kept() {
    let (running, ada) = Running::with_ada().await;
    let authority = ada.as_authority(ada.membership.joined_at).unwrap();
    for _ in 0..Invitation::MAX_OPEN {
        let draft = InvitationDraft {
            invitee: Invitee::parse("Bob").unwrap(),
            role: Role::Member,
        };
        let invitations = running.installation.invitations();
        let invited = invitations.invite(&authority, draft, None, RequestSource::default());
        invited.await.unwrap();
    }
    let owner = running.signed_in("ada").await;
    let page = invite(&owner, "Grace", "owner").await;
    assert_eq!(page.status, 409);
    assert!(page.shows("<title>Error: ") && page.text().contains("has 500 open invitations"));
    assert_eq!(page.focused(), ["p role=\"alert\""]);
    assert!(page.shows("value=\"Grace\"") && page.shows("value=\"owner\" checked"));
    assert!(page.shows(&format!("href=\"{INVITATIONS}\">Revoke one</a>")));
}

#[tokio::test]
async fn invalid_invitation_form_is_refused_and_creates_no_invitation() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    let page = invite(&owner, " ", "owner").await;
    assert_eq!(page.status, 422);
    assert!(page.shows("id=\"invitee-error\"") && page.shows("Name or email must not be empty."));
    assert!(page.shows("value=\"owner\" checked") && page.shows("<title>Error: "));
    assert_eq!(invite(&owner, "Grace", "king").await.status, 400);
    assert!(owner.get(INVITATIONS).await.shows("No pending invitations"));
}

#[tokio::test]
async fn pending_invitation_is_listed_until_revoked_and_then_refused() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    let link = invitation(&owner, "Grace", "member").await;
    let list = owner.get(INVITATIONS).await;
    assert!(list.text().contains("Grace") && list.shows("badge on"));
    assert_eq!(running.visitor().open(&link).await.status, 200);
    let path = revoke_path(&list);
    let page = owner.get(&path).await;
    assert!(
        page.text().contains("Revoke the invitation for “Grace”?"),
        "{}",
        page.body
    );
    assert!(page.shows("will stop working immediately") && page.shows("data-close>Cancel"));
    assert_eq!(
        running.visitor().open(&link).await.status,
        200,
        "asking changes nothing"
    );
    let answer = owner.post(&path, &[]).await;
    let list = owner.follow(&answer).await;
    assert!(list.shows("Its link no longer works") && list.shows("No pending invitations"));
    assert_eq!(running.visitor().open(&link).await.status, 404);
    assert_eq!(owner.get(&path).await.status, 404, "there is nothing to ask");
    let events = running.installation.store.events().len();
    assert_eq!(owner.post(&path, &[]).await.status, 303, "twice is no mistake");
    assert_eq!(running.installation.store.events().len(), events);
}

#[tokio::test]
async fn expired_invitation_is_marked() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    invitation(&owner, "Grace", "member").await;
    running.installation.builder.clock.advance(Invitation::LIFETIME);
    let owner = running.signed_in("ada").await;
    let list = owner.get(INVITATIONS).await;
    assert!(list.shows("Expired") && !list.shows("badge on"));
    assert!(list.shows("Delete<") && !list.shows("Revoke"));
    let path = revoke_path(&list);
    let page = owner.get(&path).await;
    assert!(page.text().contains("Delete the invitation for “Grace”?") && page.shows("has expired"));
    let expired = [("expired", page.field("expired"))];
    // Twice, as by a double click.
    owner.post(&path, &expired).await;
    let answer = owner.post(&path, &expired).await;
    let list = owner.follow(&answer).await;
    assert!(list.shows("The expired invitation was deleted.") && !list.shows("Grace"));
}

#[tokio::test]
async fn accepted_invitation_cannot_be_revoked() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    running
        .installation
        .member(&running.installation.organization("Other"), "grace", Role::Member);
    let link = invitation(&owner, "Grace", "member").await;
    let path = revoke_path(&owner.get(INVITATIONS).await);
    let grace = running.signed_in("grace").await;
    let token = grace.open(&link).await.field("token").to_owned();
    let fields = [("token", token.as_str()), ("as", "user"), ("username", "grace")];
    grace.post("/join", &fields).await;
    let answer = owner.post(&path, &[]).await;
    let list = owner.follow(&answer).await;
    assert!(list.shows("Someone has already joined with this invitation"));
}

#[tokio::test]
async fn pending_invitations_paginate() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    for number in 0..51 {
        running.installation.builder.clock.advance(TimeDelta::seconds(1));
        invitation(&owner, &format!("Person {number} of many"), "member").await;
    }
    let first = owner.get(INVITATIONS).await;
    assert!(first.shows("Person 50 of many") && !first.shows("Person 0 of many"));
    let (before, _) = first.body.split_once("\" rel=\"next\"").unwrap();
    let older = before.rsplit_once("href=\"").unwrap().1;
    let second = owner.get(older).await;
    assert!(second.shows("Person 0 of many") && !second.shows("Person 1 of many"));
    assert_eq!(owner.get(&format!("{INVITATIONS}?after=x")).await.status, 400);
}

/// S13, S18: users who do not run the organization find nothing there, and change nothing.
#[tokio::test]
async fn only_owners_of_the_organization_invite_and_revoke_invitations() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    installation.member(&ada.organization, "grace", Role::Member);
    installation.member(&installation.organization("Other"), "olga", Role::Owner);
    let owner = running.signed_in("ada").await;
    let link = invitation(&owner, "Somebody", "member").await;
    let idempotency_key = owner.get(INVITE).await.field("idempotency_key").to_owned();
    let path = revoke_path(&owner.get(INVITATIONS).await);
    // An owner of another organization, by that organization's own address.
    let crossed = path.replace("/acme/", "/other/");
    let events = installation.store.events().len();
    for username in ["grace", "olga"] {
        let browser = running.signed_in(username).await;
        for path in [INVITE, INVITATIONS] {
            assert_eq!(browser.get(path).await.status, 404, "{username} {path}");
        }
        let answer = send(&browser, &idempotency_key, "Friend", "owner").await;
        assert_eq!(answer.status, 404, "{username}");
        for path in [&path, &crossed] {
            assert_eq!(browser.post(path, &[]).await.status, 404, "{username} {path}");
        }
    }
    let visitor = running.visitor();
    assert!(
        send(&visitor, &idempotency_key, "Friend", "owner")
            .await
            .location()
            .starts_with("/sign-in")
    );
    assert!(visitor.post(&path, &[]).await.location().starts_with("/sign-in"));
    let invited = installation.store.events().len() - events;
    assert_eq!(invited, 4, "the two sign-ins only, in two logs each");
    assert_eq!(running.visitor().open(&link).await.status, 200);
}
