//! How often pages ask the store: for many rows no more often than for few.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::api_key::KeyPrecondition;
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::clock::Clock;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::{Invitation, InvitationToken, Invitee};
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::DescendantKeys;
use keyward_domain::retention::ports::RetentionStore;

use crate::browser::Browser;
use crate::projects::{project, put_in};
use crate::running::{LIST, Running};

const SETTINGS: &str = "/organizations/acme/settings";

async fn asked(running: &Running, browser: &Browser, path: &str) -> usize {
    let store = &running.installation.store;
    let before = store.questions();
    let page = browser.get(path).await;
    assert_eq!(page.status, 200, "{path}: {}", page.text());
    store.questions() - before
}

/// Grace, who holds keys of which each was created by another one, which it revoked.
struct Scene {
    running: Running,
    grace: Member,
    owner: Browser,
    holder: Browser,
}

impl Scene {
    async fn new() -> Self {
        let (running, ada) = Running::with_ada().await;
        let grace = running
            .installation
            .member(&ada.organization, "grace", Role::Member);
        Self {
            owner: running.signed_in("ada").await,
            holder: running.signed_in("grace").await,
            running,
            grace,
        }
    }

    async fn issue_replacement(&self, name: &str) {
        let installation = &self.running.installation;
        let parent = installation.issue(&self.grace.as_holder(), name).await;
        self.replace(&parent, &format!("{name} again")).await;
    }

    async fn replace(&self, parent: &IssuedKey, name: &str) {
        let installation = &self.running.installation;
        let through_parent = installation.caller(parent).await.as_holder();
        let child = installation.issue(&through_parent, name).await;
        let through_child = installation.caller(&child).await.as_holder();
        let (id, source) = (parent.key.id, RequestSource::default());
        let keys = installation.keys();
        keys.revoke(
            &through_child,
            id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            source,
        )
        .await
        .unwrap();
    }

    /// For each page that shows the keys of Grace.
    async fn asked_about_keys(&self) -> Vec<usize> {
        let removal = format!("{SETTINGS}/members/{}/remove", self.grace.membership.id);
        let mut counts = Vec::new();
        for (browser, path) in [
            (&self.holder, LIST),
            (&self.holder, &format!("{LIST}?status=revoked")),
            (&self.holder, &format!("{SETTINGS}/general/leave")),
            (&self.owner, &removal),
        ] {
            counts.push(asked(&self.running, browser, path).await);
        }
        counts
    }
}

#[tokio::test]
async fn key_pages_query_linked_keys_once() {
    let scene = Scene::new().await;
    scene.issue_replacement("first").await;
    let few = scene.asked_about_keys().await;
    for number in 0..9 {
        scene.issue_replacement(&format!("key {number}")).await;
    }
    let page = scene.holder.get(LIST).await.text();
    let created_by = page.split("by key kwp_…").skip(1);
    let named = created_by.filter(|rest| rest.get(4..).is_some_and(|rest| rest.starts_with(" key ")));
    assert_eq!(named.count(), 9, "{page}");
    assert_eq!(scene.asked_about_keys().await, few);
}

#[tokio::test]
async fn key_pages_query_removed_keys_once() {
    let scene = Scene::new().await;
    scene.issue_replacement("first").await;
    let few = scene.asked_about_keys().await;
    for number in 0..9 {
        scene.issue_replacement(&format!("key {number}")).await;
    }
    let installation = &scene.running.installation;
    let later = installation.builder.clock.now() + TimeDelta::days(1);
    let store = Arc::new(installation.store.clone());
    assert_eq!(store.remove_dead_keys(later, 100).await.unwrap(), 10);
    let page = scene.holder.get(LIST).await.text();
    assert!(
        page.contains("key 8 again") && page.matches("by a deleted key").count() == 10,
        "{page}"
    );
    let (now, before) = (scene.asked_about_keys().await, few);
    assert!(
        now.iter().zip(&before).all(|(now, before)| now <= before),
        "{now:?} {before:?}"
    );
}

#[tokio::test]
async fn adding_project_members_queries_membership_once() {
    let (running, ada) = Running::with_ada().await;
    let project = project(&running, &ada, "Notes").await;
    let path = format!("{SETTINGS}/projects/{}/add-members?search=engineer", project.id);
    let installation = &running.installation;
    let browser = running.signed_in("ada").await;
    let first = installation.member(&ada.organization, "engineer", Role::Member);
    put_in(&running, &ada, &project, &first).await;
    let few = asked(&running, &browser, &path).await;
    // Between those who are looked for are pages of others.
    for number in 0..5 {
        for other in 0..60 {
            let name = format!("other{number}x{other}");
            let other = installation.member(&ada.organization, &name, Role::Member);
            put_in(&running, &ada, &project, &other).await;
        }
        installation.member(&ada.organization, &format!("engineer{number}"), Role::Member);
    }
    let page = browser.get(&path).await.text();
    assert!(page.contains("engineer4"), "{page}");
    assert_eq!(asked(&running, &browser, &path).await, few);
}

#[tokio::test]
async fn account_page_queries_organizations_once() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let browser = running.signed_in("ada").await;
    let few = asked(&running, &browser, "/account").await;
    for number in 0..5 {
        let organization = installation.organization(&format!("Other {number}"));
        let membership = installation
            .builder
            .membership(&organization, &ada.user, Role::Member);
        installation.store.put_membership(membership);
    }
    let page = browser.get("/account").await.text();
    assert!(page.contains("Other 4"), "{page}");
    assert_eq!(asked(&running, &browser, "/account").await, few);
}

#[tokio::test]
async fn revoking_an_invitation_reads_only_that_invitation() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let invite = || {
        let id = installation.builder.ids.next();
        let invitation = Invitation {
            id,
            organization_id: ada.organization.id,
            invitee: Invitee::parse("Grace").unwrap(),
            role: Role::Member,
            invited_by: Actor::User(ada.user.id),
            created_at: ada.membership.joined_at,
            expires_at: ada.membership.joined_at + Invitation::LIFETIME,
            end: None,
        };
        let digest = InvitationToken::generate(&*installation.builder.random).digest();
        installation.store.put_invitation(invitation, digest);
        id
    };
    let path = |id| format!("{SETTINGS}/members/invitations/{id}/revoke");
    let oldest: InvitationId = invite();
    let browser = running.signed_in("ada").await;
    let few = asked(&running, &browser, &path(oldest)).await;
    for _ in 0..1_000 {
        invite();
    }
    assert_eq!(asked(&running, &browser, &path(oldest)).await, few);
    let newest: InvitationId = invite();
    assert_eq!(asked(&running, &browser, &path(newest)).await, few);
}

/// Each page and the number of its queries, including one for the session and one for the memberships.
#[tokio::test]
async fn each_page_queries_each_record_once() {
    let scene = Scene::new().await;
    scene.issue_replacement("Laptop").await;
    let holder = scene.grace.as_holder();
    let key = scene.running.installation.issue(&holder, "Phone").await.key.id;
    let acme = &scene.grace.organization;
    let bob = scene.running.installation.member(acme, "bob", Role::Owner);
    let project = project(&scene.running, &bob, "Notes").await;
    put_in(&scene.running, &bob, &project, &scene.grace).await;
    let grace = scene.grace.membership.id;
    let (owner, member) = (&scene.owner, &scene.holder);
    let at = |path: &str| format!("{SETTINGS}/{path}");
    let mut asked_for = Vec::new();
    for (browser, path) in [
        (member, "/account".to_owned()),
        (member, at("general")),
        (member, at("general/leave")),
        (member, at("projects")),
        (member, at("api-keys")),
        (member, at("api-keys/new")),
        (member, at(&format!("api-keys/{key}/edit"))),
        (member, at(&format!("api-keys/{key}/rotate"))),
        (member, at(&format!("api-keys/{key}/revoke"))),
        (owner, at("members")),
        (owner, at(&format!("members/{grace}"))),
        (owner, at(&format!("members/{grace}/role"))),
        (owner, at(&format!("members/{grace}/expiration"))),
        (owner, at(&format!("members/{grace}/remove"))),
        (owner, at("members/invitations")),
        (owner, at("projects")),
        (owner, at(&format!("projects/{}", project.id))),
        (owner, at("api-keys/all")),
        (owner, at(&format!("api-keys/all?holder={grace}"))),
        (owner, at(&format!("api-keys/all/{key}"))),
        (owner, at(&format!("api-keys/all/revoke?key-{key}=on"))),
        (owner, at("audit-log")),
        (owner, at("audit-log?who=grace")),
        (owner, at(&format!("audit-log?who={key}"))),
        (owner, at("audit-log?what=grace")),
        (owner, at(&format!("audit-log?what={key}"))),
        (owner, at("audit-log?what=01900000-0000-7000-8000-000000000001")),
        (owner, at("audit-log?who=01900000-0000-7000-8000-000000000001")),
    ] {
        let store = &scene.running.installation.store;
        let before = store.questions();
        browser.get(&path).await;
        let questions = store.questions() - before;
        asked_for.push(format!("{questions} {path}"));
    }
    let asked_for = asked_for.join("\n");
    let asked_for = asked_for
        .replace(&key.to_string(), "KEY")
        .replace(&grace.to_string(), "GRACE")
        .replace(&project.id.to_string(), "PROJECT")
        .replace(SETTINGS, "");
    let expected = "\
        4 /account
        2 /general
        6 /general/leave
        3 /projects
        7 /api-keys
        2 /api-keys/new
        3 /api-keys/KEY/edit
        3 /api-keys/KEY/rotate
        4 /api-keys/KEY/revoke
        3 /members
        3 /members/GRACE
        4 /members/GRACE/role
        3 /members/GRACE/expiration
        7 /members/GRACE/remove
        4 /members/invitations
        3 /projects
        5 /projects/PROJECT
        5 /api-keys/all
        6 /api-keys/all?holder=GRACE
        4 /api-keys/all/KEY
        3 /api-keys/all/revoke?key-KEY=on
        4 /audit-log
        5 /audit-log?who=grace
        6 /audit-log?who=KEY
        5 /audit-log?what=grace
        5 /audit-log?what=KEY
        12 /audit-log?what=01900000-0000-7000-8000-000000000001
        10 /audit-log?who=01900000-0000-7000-8000-000000000001";
    assert_eq!(asked_for, expected.replace("        ", ""));
}
