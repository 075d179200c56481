//! Pages when the storage refuses a change, or when one kind of record cannot be read: an error page that says what to
//! do, with the request's id, and never a partial page.

mod forms;
mod outages;

use chrono::TimeDelta;
use keyward_console::Console;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::api_key::LongestLife;
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{DescendantKeys, StorageError};
use keyward_domain::testing::TestInstallation;

use crate::browser::{Answer, Browser};
use crate::log::Log;
use crate::projects::{project, put_in};
use crate::running::{LIST, NEW, Running};

const SETTINGS: &str = "/organizations/acme/settings";
const CAUSE: &str = "audit_events is on fire";

/// The organization `acme` with its owner `ada`, signed in twice, and its members `grace` and `heidi`; and `dave` of
/// another one.
pub(crate) struct Scene {
    pub(crate) running: Running,
    pub(crate) ada: Member,
    pub(crate) grace: Member,
    pub(crate) owner: Browser,
    pub(crate) member: Browser,
    leaver: Browser,
    pub(crate) outsider: Browser,
    visitor: Browser,
    newcomer: Browser,
}

impl Scene {
    pub(crate) async fn new(change: impl FnOnce(&mut Console)) -> Self {
        let running = Running::with(TestInstallation::new(), None, change).await;
        let acme = running.installation.organization("Acme");
        let elsewhere = running.installation.organization("Elsewhere");
        let ada = running.installation.member(&acme, "ada", Role::Owner);
        let grace = running.installation.member(&acme, "grace", Role::Member);
        running.installation.member(&acme, "heidi", Role::Member);
        running.installation.member(&elsewhere, "dave", Role::Member);
        let (authority, longest) = (
            ada.as_authority(ada.membership.joined_at),
            LongestLife::of_days(60),
        );
        let organizations = running.installation.organizations();
        let (authority, longest) = (authority.unwrap(), longest.unwrap());
        let set = organizations.limit_key_life(&authority, Some(longest), RequestSource::default());
        set.await.unwrap();
        // Her other session.
        running.signed_in("ada").await;
        Self {
            owner: running.signed_in("ada").await,
            member: running.signed_in("grace").await,
            leaver: running.signed_in("heidi").await,
            outsider: running.signed_in("dave").await,
            visitor: running.visitor(),
            newcomer: running.visitor(),
            running,
            ada,
            grace,
        }
    }

    pub(crate) async fn key(&self, name: &str) -> String {
        let holder = self.grace.as_holder();
        self.running
            .installation
            .issue(&holder, name)
            .await
            .key
            .id
            .to_string()
    }

    /// Grace's page names the owner.
    async fn revoke_as_owner(&self, key: &str) {
        let selection = KeySelection::Keys {
            ids: vec![key.parse().unwrap()],
            descendants: DescendantKeys::Keep,
        };
        let authority = self.ada.as_authority(self.ada.membership.joined_at).unwrap();
        let keys = self.running.installation.organization_keys();
        let revoked = keys
            .revoke(&authority, selection, None, RequestSource::default(), None)
            .await;
        assert_eq!(revoked.unwrap().count, 1);
    }

    pub(crate) async fn project(&self, name: &str) -> String {
        let project = project(&self.running, &self.ada, name).await;
        put_in(&self.running, &self.ada, &project, &self.ada).await;
        project.id.to_string()
    }

    pub(crate) async fn archived_project(&self) -> String {
        let project = project(&self.running, &self.ada, "Attic").await;
        let authority = self.ada.as_authority(self.ada.membership.joined_at).unwrap();
        let projects = self.running.installation.projects();
        let archived = projects
            .archive(&authority, project.id, RequestSource::default())
            .await;
        archived.unwrap();
        project.id.to_string()
    }
}

/// A whole page of this status, with the request's id and without the cause.
#[track_caller]
fn assert_says_so(answer: &Answer, status: u16, words: &str, path: &str) {
    assert_eq!(answer.status, status, "{path}: {}", answer.text());
    assert!(
        answer.shows("<!doctype html>") && answer.body.trim_end().ends_with("</html>"),
        "{path}"
    );
    assert!(answer.text().contains(words), "{path}: {}", answer.text());
    assert!(answer.shows(answer.header("x-request-id")), "{path}");
    assert!(!answer.shows(CAUSE), "{path}: the cause is for the logs");
    assert!(answer.tokens().is_empty(), "{path}");
    assert_eq!(
        answer.header("retry-after"),
        if status == 503 { "5" } else { "" },
        "{path}"
    );
}

#[tokio::test]
async fn every_page_during_storage_outage_shows_error_with_request_id() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    running.installation.store.go_down();
    let fields = [("username", "ada"), ("password", TestInstallation::PASSWORD)];
    let visitor = running.visitor();
    for answer in [
        browser.get("/").await,
        browser.get(LIST).await,
        browser.post(NEW, &[]).await,
        visitor.get("/").await,
        visitor.get("/setup").await,
        visitor.post("/sign-in", &fields).await,
    ] {
        assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
        assert!(answer.shows(answer.header("x-request-id")));
        assert!(answer.shows("Temporarily unavailable") && answer.shows("href=\"/\""));
        assert!(!answer.shows("taken down by a test"), "the cause is for the logs");
    }
    running.installation.store.come_back();
    assert_eq!(
        browser.get(LIST).await.status,
        200,
        "the session outlives the failure"
    );
}

fn has_session(browser: &Browser) -> bool {
    browser.cookie().is_some_and(|cookie| cookie.contains("session="))
}

#[tokio::test]
async fn sign_out_during_storage_failure_removes_the_browsers_cookie() {
    let (running, _) = Running::with_ada().await;
    let store = &running.installation.store;
    let elsewhere = running.signed_in("ada").await;
    let errors: [(fn() -> StorageError, u16); 3] = [
        (|| StorageError::Unavailable(CAUSE.into()), 503),
        (|| StorageError::OutcomeUnknown(CAUSE.into()), 503),
        (|| StorageError::Defect(CAUSE.into()), 500),
    ];
    for (error, status) in errors {
        let browser = elsewhere.second_tab();
        store.refuse_changes(error);
        let answer = browser.post("/sign-out", &[]).await;
        store.allow_changes();
        assert_says_so(
            &answer,
            status,
            "You are signed out in this browser only",
            "/sign-out",
        );
        assert!(!has_session(&browser), "{status}");
    }
    store.go_down();
    let browser = elsewhere.second_tab();
    let answer = browser.post("/sign-out", &[]).await;
    store.come_back();
    assert_says_so(
        &answer,
        503,
        "You are signed out in this browser only",
        "/sign-out",
    );
    assert!(!has_session(&browser));
    assert!(
        browser
            .post("/sign-out", &[])
            .await
            .location()
            .starts_with("/sign-in")
    );
    assert_eq!(
        elsewhere.get(LIST).await.status,
        200,
        "the session is still there"
    );
}

#[tokio::test]
async fn outage_page_mentions_a_form_only_where_one_was_sent() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    running.installation.store.go_down();
    for (answer, was_form) in [
        (browser.get(LIST).await, false),
        (browser.post(NEW, &[]).await, true),
    ] {
        assert_says_so(&answer, 503, "Wait a few seconds, then try again.", LIST);
        assert_eq!(answer.shows("If you sent a form"), was_form);
    }
}

#[tokio::test]
async fn page_served_while_storage_is_read_only_records_session_use() {
    let (log, _guard) = Log::start();
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let TestInstallation {
        builder,
        store,
        seen_sessions,
        ..
    } = &running.installation;
    // When she was last seen is due to be written.
    builder.clock.advance(TimeDelta::hours(1));
    store.refuse_changes(|| StorageError::Defect(CAUSE.into()));
    assert_eq!(browser.get(LIST).await.status, 200);
    assert!(!log.text().contains(CAUSE), "{}", log.text());
    assert_eq!(seen_sessions.next().map(|(_, at)| at), Some(builder.clock.now()));

    store.allow_changes();
    running.installation.write_seen_sessions().await;
    assert_eq!(browser.get(LIST).await.status, 200);
    assert!(seen_sessions.is_empty(), "it is not due again");
}
