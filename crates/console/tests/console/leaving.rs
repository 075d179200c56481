use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use keyward_domain::administration::Authority;
use keyward_domain::audit::RequestSource;
use keyward_domain::membership::{Member, Role};
use keyward_domain::project::ProjectName;
use keyward_domain::propagation::Propagation;
use keyward_domain::testing::TestInstallation;

use crate::browser::Browser;
use crate::running::{LIST, Running};

const GENERAL: &str = "/organizations/acme/settings/general";
const LEAVE: &str = "/organizations/acme/settings/general/leave";
const CONFIRM: [(&str, &str); 1] = [("confirm", "yes")];

/// With the member `grace`, in her browser.
async fn grace() -> (Running, Browser, Member) {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let browser = running.signed_in("grace").await;
    (running, browser, grace)
}

#[tokio::test]
async fn leaving_shows_consequences_and_ends_keys_and_access_immediately() {
    let (running, browser, grace) = grace().await;
    let key = running.installation.issue(&grace.as_holder(), "Laptop").await;
    assert!(browser.get(GENERAL).await.shows(&format!("href=\"{LEAVE}\"")));
    let page = browser.get(LEAVE).await;
    assert!(page.text().contains("1 key will stop working"), "{}", page.text());
    assert!(page.shows(key.key.hint.as_str()) && page.shows(&format!("href=\"{GENERAL}\">Cancel")));
    let answer = browser.post(LEAVE, &CONFIRM).await;
    let page = browser.follow(&answer).await;
    assert!(page.shows("You have left the organization") && page.shows("action=\"/sign-out\""));
    let authenticate = running.installation.authenticate();
    assert!(authenticate.caller(key.token.expose(), None).await.is_err());
    for path in [LIST, GENERAL, LEAVE] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
    assert!(
        browser
            .get("/")
            .await
            .shows("You are not a member of an organization")
    );
}

/// Counts how often other servers were waited for.
#[derive(Default)]
pub(crate) struct CountedWaits(pub(crate) AtomicU32);

#[async_trait]
impl Propagation for CountedWaits {
    async fn wait(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn repeated_leaving_waits_for_all_servers_too() {
    let waits = Arc::new(CountedWaits::default());
    let installation = TestInstallation::new();
    let members = installation.members().with_propagation(Arc::clone(&waits) as _);
    let running = Running::with(installation, None, |console| console.members = members).await;
    let acme = running.installation.organization("Acme");
    running.installation.member(&acme, "ada", Role::Owner);
    running.installation.member(&acme, "grace", Role::Member);
    let browser = running.signed_in("grace").await;
    assert_eq!(browser.post(LEAVE, &[]).await.status, 422);
    assert_eq!(waits.0.load(Ordering::SeqCst), 0);
    for (count, status) in [(1, 303), (2, 404)] {
        assert_eq!(browser.post(LEAVE, &CONFIRM).await.status, status);
        assert_eq!(waits.0.load(Ordering::SeqCst), count);
    }
    assert_eq!(running.visitor().post(LEAVE, &CONFIRM).await.status, 303);
    assert_eq!(waits.0.load(Ordering::SeqCst), 2, "strangers do not wait");
}

#[tokio::test]
async fn leaving_one_organization_keeps_the_others() {
    let (running, browser, grace) = grace().await;
    let installation = &running.installation;
    let other = installation.organization("Other");
    let second = installation.builder.membership(&other, &grace.user, Role::Member);
    installation.store.put_membership(second.clone());
    let there = Member {
        membership: second,
        organization: other,
        ..grace.clone()
    };
    let key = installation.issue(&there.as_holder(), "There").await;
    assert!(!browser.get(LEAVE).await.shows("There"), "another consumer's key");
    let answer = browser.post(LEAVE, &CONFIRM).await;
    let page = browser.follow(&answer).await;
    let list = "/organizations/other/settings/api-keys";
    assert!(page.shows(&format!("href=\"{list}\"")));
    assert!(browser.get(list).await.shows("There"));
    assert_eq!(browser.get("/").await.location(), list);
    assert!(
        installation
            .authenticate()
            .caller(key.token.expose(), None)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn leaving_page_names_some_projects_and_counts_all() {
    let (running, browser, grace) = grace().await;
    let authority = Authority::of_administrator(grace.organization.id);
    let projects = running.installation.projects();
    let put_in = async |number: u8| {
        let (name, source) = (format!("Project {number:02}"), RequestSource::default());
        let name = ProjectName::parse(&name).unwrap();
        let project = projects
            .create(&authority, name, None, source.clone())
            .await
            .unwrap();
        let added = projects.add_member(&authority, project.id, grace.membership.id, source);
        added.await.unwrap();
    };
    for number in 1..=25 {
        put_in(number).await;
    }
    let text = browser.get(LEAVE).await.text();
    assert!(
        text.contains("leave 25 projects") && text.contains("Project 01"),
        "{text}"
    );
    assert!(!text.contains("And "), "{text}");
    for number in 26..=80 {
        put_in(number).await;
    }
    let text = browser.get(LEAVE).await.text();
    assert!(
        text.contains("leave 80 projects") && text.contains("Showing 25 of 80 projects."),
        "{text}"
    );
    assert!(
        text.contains("Project 80") && text.contains("Project 56") && !text.contains("Project 55"),
        "{text}"
    );
}

#[tokio::test]
async fn leaving_without_confirmation_is_refused() {
    let (_running, browser, _) = grace().await;
    let page = browser.post(LEAVE, &[]).await;
    assert!(page.status == 422 && page.shows("Check the box to leave. Nothing was changed."));
    assert_eq!(browser.get(LIST).await.status, 200);
}

#[tokio::test]
async fn last_owner_sees_why_leaving_is_impossible() {
    let (running, _, _) = grace().await;
    let owner = running.signed_in("ada").await;
    let general = owner.get("/organizations/acme/settings/general").await;
    let form = owner.get(LEAVE).await;
    for page in [&general, &form] {
        assert!(
            page.status == 200 && page.text().contains("You are the only permanent owner"),
            "{}",
            page.body
        );
        assert!(
            page.shows("<a href=\"/organizations/acme/settings/members\">Make someone else an owner</a>")
        );
        assert!(!page.shows("Leave organization</") && !page.shows(&format!("href=\"{LEAVE}\"")));
    }
    assert!(!form.shows("role=\"alert\""), "no error is shown");

    let refused = owner.post(LEAVE, &CONFIRM).await;
    assert_eq!(refused.status, 409);
    assert!(refused.shows("role=\"alert\"") && refused.text().contains("You have not left."));
    assert_eq!(owner.get(LIST).await.status, 200);
}

#[tokio::test]
async fn owner_can_leave_while_another_owner_remains() {
    let (running, _, grace) = grace().await;
    running
        .installation
        .member(&grace.organization, "olga", Role::Owner);
    let owner = running.signed_in("ada").await;
    assert!(owner.get(LEAVE).await.shows("Leave organization</button>"));
    assert_eq!(owner.post(LEAVE, &CONFIRM).await.status, 303);
    assert_eq!(owner.get(LIST).await.status, 404);
}

#[tokio::test]
async fn leaving_page_lists_50_recently_used_keys_and_links_all() {
    let (running, browser, grace) = grace().await;
    for number in 0..60 {
        running
            .installation
            .issue(&grace.as_holder(), &format!("Key {number:02}"))
            .await;
    }
    let page = browser.get(LEAVE).await;
    let text = page.text();
    assert!(text.contains("60 keys will stop working"), "{text}");
    let shown = (0..60).filter(|number| text.contains(&format!("Key {number:02} ")));
    assert!(shown.eq(10..60), "{text}");
    let all = format!("The 50 keys used most recently are shown. <a href=\"{LIST}\">See all 60 keys</a>");
    assert!(page.shows(&all), "{}", page.body);
}
