//! When a membership ends: where owners plan it, and where its member sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use keyward_domain::audit::Action;
use keyward_domain::membership::Role;
use keyward_domain::testing::TestInstallation;

use crate::leaving::CountedWaits;
use crate::running::{LIST, Running};

const MEMBERS: &str = "/organizations/acme/settings/members";
const GENERAL: &str = "/organizations/acme/settings/general";

fn chosen<'a>(expiration: &'a str, at: &'a str) -> [(&'a str, &'a str); 2] {
    [("expiration", expiration), ("expires_at", at)]
}

#[tokio::test]
async fn owner_plans_moves_and_removes_the_end_of_a_membership() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let page = format!("{MEMBERS}/{}", grace.membership.id);
    let form = format!("{page}/expiration");
    let (owner, member) = (running.signed_in("ada").await, running.signed_in("grace").await);
    let in_30_days = (running.installation.now() + TimeDelta::days(30)).format("%-d %B %Y");
    for (expiration, at, shown) in [
        ("30", "", in_30_days.to_string()),
        ("keep", "", in_30_days.to_string()),
        ("at", "2026-02-03T04:05:06", "3 February 2026".to_owned()),
        ("never", "", String::new()),
    ] {
        let answer = owner.post(&form, &chosen(expiration, at)).await;
        let seen = owner.follow(&answer).await;
        let says = "The membership expiration of grace was saved.";
        assert!(seen.text().contains(says), "{}", seen.text());
        let is_planned = !shown.is_empty();
        let general = member.get(GENERAL).await;
        for (page, planned) in [
            (&seen, &*shown),
            (&owner.get(MEMBERS).await, "Membership expires"),
            (&general, &*shown),
            (&member.get(LIST).await, &*shown),
        ] {
            assert_eq!(
                page.text().contains(planned),
                is_planned || planned.is_empty(),
                "{}",
                page.text()
            );
        }
        assert_eq!(general.text().contains("You lose access then"), is_planned);
        let told = member.get(LIST).await.text().contains("Your membership ends");
        assert_eq!(told, is_planned);
        assert_eq!(member.post(&form, &chosen("90", "")).await.status, 404);
    }
    let events = running.installation.store.events();
    let told = events
        .iter()
        .filter(|event| event.action == Action::ChangeMembershipExpiry);
    let values: Vec<_> = told
        .map(|event| (event.old_value.is_some(), event.new_value.as_deref()))
        .collect();
    let [
        (false, Some(_)),
        (true, Some("2026-02-03T04:05:06.000Z")),
        (true, None),
    ] = values[..]
    else {
        panic!("{values:?}");
    };
    let log = owner.get("/organizations/acme/settings/audit-log").await.text();
    assert!(
        log.contains("ada changed the expiration of the membership of grace"),
        "{log}"
    );
}

#[tokio::test]
async fn impossible_end_of_a_membership_is_refused_and_shown_again() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let form = format!("{MEMBERS}/{}/expiration", grace.membership.id);
    let owner = running.signed_in("ada").await;
    for (at, says) in [
        ("", "Expiration must be a date and a time."),
        ("2025-01-01T00:00:00", "Expiration must be in the future."),
        (
            "2500-01-01T00:00:00",
            "Expiration must be at most 3650 days ahead.",
        ),
    ] {
        let page = owner.post(&form, &chosen("at", at)).await;
        assert_eq!(page.status, 422, "{at}");
        assert!(page.text().contains(says), "{}", page.text());
        assert!(page.shows(&format!("value=\"{at}\"")), "{}", page.body);
    }
    assert_eq!(owner.post(&form, &chosen("31", "")).await.status, 400);
    let events = running.installation.store.events();
    assert!(
        events
            .iter()
            .all(|event| event.action != Action::ChangeMembershipExpiry)
    );
}

#[tokio::test]
async fn planning_the_last_owners_end_is_refused_with_a_reason() {
    let (running, ada) = Running::with_ada().await;
    let page = format!("{MEMBERS}/{}", ada.membership.id);
    let form = format!("{page}/expiration");
    let owner = running.signed_in("ada").await;
    let answer = owner.get(&form).await;
    assert_eq!(answer.status, 303);
    assert!(!owner.get(&page).await.shows("/expiration"));
    let refused = owner.post(&form, &chosen("30", "")).await;
    assert_eq!(refused.status, 409);
    let says = "You are the only permanent owner, and an organization needs one.";
    assert!(refused.text().contains(says), "{}", refused.text());
}

#[tokio::test]
async fn repeated_plan_waits_for_all_servers_once_it_came() {
    let waits = Arc::new(CountedWaits::default());
    let installation = TestInstallation::new();
    let members = installation.members().with_propagation(Arc::clone(&waits) as _);
    let running = Running::with(installation, None, |console| console.members = members).await;
    let acme = running.installation.organization("Acme");
    running.installation.member(&acme, "ada", Role::Owner);
    let grace = running.installation.member(&acme, "grace", Role::Member);
    let form = format!("{MEMBERS}/{}/expiration", grace.membership.id);
    let owner = running.signed_in("ada").await;
    let at = running.installation.now() + TimeDelta::seconds(2);
    let at = at.format("%Y-%m-%dT%H:%M:%S").to_string();
    for (count, status) in [(1, 303), (2, 404)] {
        assert_eq!(owner.post(&form, &chosen("at", &at)).await.status, status);
        assert_eq!(waits.0.load(Ordering::SeqCst), count);
        running.installation.builder.clock.advance(TimeDelta::seconds(3));
    }
}

#[tokio::test]
async fn membership_that_ends_within_seven_days_is_marked() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let form = format!("{MEMBERS}/{}/expiration", grace.membership.id);
    let owner = running.signed_in("ada").await;
    for (days, marked) in [("30", false), ("7", true)] {
        owner.post(&form, &chosen(days, "")).await;
        let list = owner.get(MEMBERS).await.text();
        assert!(list.contains("Membership expires"), "{list}");
        let page = owner.get(&format!("{MEMBERS}/{}", grace.membership.id)).await;
        for text in [list, page.text()] {
            assert_eq!(text.contains("Expiring"), marked, "{text}");
        }
    }
}
