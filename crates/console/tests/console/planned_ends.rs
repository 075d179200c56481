//! Ends of keys and memberships that lie ahead, and come.

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::api_key::{ApiKey, Revocation, RevocationReason};
use keyward_domain::audit::Actor;
use keyward_domain::membership::{Member, Role};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::testing::conformance::Arrange;
use keyward_domain::validity::End;

use crate::browser::Browser;
use crate::running::{LIST, Running};

const ALL: &str = "/organizations/acme/settings/api-keys/all";
const MEMBERS: &str = "/organizations/acme/settings/members";
const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

/// Ada and carl run the organization. She has the key `Parent`, with which `Planned` was made; bob has the key `Bob's`.
struct Scene {
    running: Running,
    bob: Member,
    other_owner: Member,
    owner: Browser,
    parent: ApiKey,
    planned: ApiKey,
    end: DateTime<Utc>,
}

impl Scene {
    /// `Planned` ends in an hour, and so does bob's membership.
    async fn new() -> Self {
        let (running, ada) = Running::with_ada().await;
        let installation = &running.installation;
        let bob = installation.member(&ada.organization, "bob", Role::Member);
        let parent = installation.issue(&ada.as_holder(), "Parent").await;
        let through_parent = installation.caller(&parent).await.as_holder();
        let planned = installation.issue(&through_parent, "Planned").await.key;
        installation.issue(&bob.as_holder(), "Bob's").await;
        let other_owner = installation.member(&ada.organization, "carl", Role::Owner);
        let end = installation.now() + TimeDelta::hours(1);
        let revocation = Revocation {
            end: End::Planned(end),
            by: Actor::Administrator,
            reason: RevocationReason::Administrator,
            note: None,
        };
        let store = &installation.store;
        store.plan_revocation(&planned, revocation).await;
        store.plan_end_of_membership(bob.membership.id, end).await;
        let owner = running.signed_in("ada").await;
        Self {
            running,
            bob,
            other_owner,
            owner,
            parent: parent.key,
            planned,
            end,
        }
    }

    fn wait_until(&self, moment: DateTime<Utc>) {
        let clock = &self.running.installation.builder.clock;
        clock.advance(moment - self.running.installation.now());
    }

    /// Just before the end, and at it.
    fn around_the_end(&self) -> [(DateTime<Utc>, bool); 2] {
        [(self.end - MILLISECOND, false), (self.end, true)]
    }
}

#[tokio::test]
async fn key_is_listed_in_console_as_valid_until_planned_end() {
    let scene = Scene::new().await;
    for (moment, has_come) in scene.around_the_end() {
        scene.wait_until(moment);
        for list in [LIST, ALL] {
            let valid = scene.owner.get(&format!("{list}?status=valid")).await;
            let revoked = scene.owner.get(&format!("{list}?status=revoked")).await;
            let hint = scene.planned.hint.as_str();
            assert_eq!(valid.shows(hint), !has_come, "{list} at {moment}");
            assert_eq!(revoked.shows(hint), has_come, "{list} at {moment}");
        }
    }
}

#[tokio::test]
async fn key_is_editable_and_revocable_until_its_planned_end() {
    let scene = Scene::new().await;
    for (moment, has_come) in scene.around_the_end() {
        scene.wait_until(moment);
        let edit = scene
            .owner
            .get(&format!("{LIST}/{}/edit", scene.planned.id))
            .await;
        assert_eq!(edit.shows("name=\"description\""), !has_come, "{}", edit.text());
        let parent = format!("{LIST}/{}/revoke", scene.parent.id);
        let preview = scene.owner.get(&parent).await;
        let lists_child = preview.shows(scene.planned.hint.as_str());
        assert_eq!(lists_child, !has_come, "{}", preview.text());
        let selected = format!("{ALL}/revoke?key-{}=on", scene.planned.id);
        let revocation_preview = scene.owner.get(&selected).await;
        let is_affected = revocation_preview.shows(scene.planned.hint.as_str());
        assert_eq!(is_affected, !has_come, "{}", revocation_preview.text());
    }
}

#[tokio::test]
async fn member_has_access_until_the_planned_end() {
    let scene = Scene::new().await;
    let bobs = scene.running.signed_in("bob").await;
    let page = format!("{MEMBERS}/{}", scene.bob.membership.id);
    for (moment, has_come) in scene.around_the_end() {
        scene.wait_until(moment);
        let gone = if has_come { 404 } else { 200 };
        assert_eq!(scene.owner.get(&page).await.status, gone);
        assert_eq!(scene.owner.get(&format!("{page}/remove")).await.status, gone);
        assert_eq!(scene.owner.get(MEMBERS).await.shows(&page), !has_come);
        assert_eq!(bobs.get(LIST).await.status, gone);
        let no_access = scene.owner.get(&format!("{ALL}?status=no-access")).await;
        assert_eq!(no_access.shows("Bob&#39;s"), has_come, "{}", no_access.text());
    }
}

#[tokio::test]
async fn removing_a_member_past_the_planned_end_succeeds() {
    let scene = Scene::new().await;
    scene.wait_until(scene.end);
    let member = format!("{MEMBERS}/{}", scene.bob.membership.id);
    let answer = scene
        .owner
        .post(&format!("{member}/remove"), &[("confirm", "yes")])
        .await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let installation = &scene.running.installation;
    let act = installation.builder.act(Actor::System);
    let left = installation.store.record_ends_of_memberships(1, act).await;
    assert_eq!(left.expect("an answer"), 0, "recorded with the removal");
}

#[tokio::test]
async fn owners_with_planned_ends_are_no_permanent_owners() {
    let scene = Scene::new().await;
    let installation = &scene.running.installation;
    let store = &installation.store;
    store
        .plan_end_of_membership(scene.other_owner.membership.id, scene.end)
        .await;
    let leave = scene
        .owner
        .get("/organizations/acme/settings/general/leave")
        .await;
    let says = "You are the only permanent owner, and an organization needs one.";
    assert!(leave.text().contains(says), "{}", leave.text());
}

#[tokio::test]
async fn leaving_preview_omits_keys_past_their_planned_end() {
    let scene = Scene::new().await;
    for (moment, keys) in [(scene.end - MILLISECOND, "2 keys"), (scene.end, "1 key")] {
        scene.wait_until(moment);
        let leave = scene
            .owner
            .get("/organizations/acme/settings/general/leave")
            .await;
        assert!(
            leave.text().contains(&format!("{keys} will stop")),
            "{}",
            leave.text()
        );
    }
}

/// However far the clock goes while a page is made.
#[tokio::test]
async fn page_evaluates_all_keys_at_one_time() {
    let scene = Scene::new().await;
    let clock = &scene.running.installation.builder.clock;
    for before in 0..20 {
        for (list, status, other) in [
            (LIST, "valid", "badge off"),
            (LIST, "revoked", "badge on"),
            (ALL, "valid", "badge off"),
            (ALL, "revoked", "badge on"),
        ] {
            clock.tick_from(scene.end - TimeDelta::milliseconds(before), MILLISECOND);
            let page = scene.owner.get(&format!("{list}?status={status}")).await;
            assert_eq!(page.status, 200);
            assert!(!page.shows(other), "{before} ms before the end: {}", page.text());
        }
    }
}
