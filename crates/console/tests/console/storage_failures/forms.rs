//! Changes that storage refuses.

use std::collections::BTreeSet;

use keyward_console::operations;
use keyward_domain::audit::RequestSource;
use keyward_domain::ports::StorageError;
use keyward_domain::testing::TestInstallation;

use super::{CAUSE, SETTINGS, Scene, assert_says_so};
use crate::browser::{Answer, Browser};
use crate::invitations::invitation;
use crate::running::Running;

const IDEMPOTENCY_KEY: &str = "00000000000000000000000000000001";
/// Another one, as both create keys.
const ROTATION_KEY: &str = "00000000000000000000000000000002";

impl Scene {
    /// Every form of the console after the first-run setup, filled in, in an order in which each has the data that it
    /// needs.
    pub(crate) async fn forms(&self) -> Vec<Form<'_>> {
        let (visitor, owner, member) = (&self.visitor, &self.owner, &self.member);
        let password = TestInstallation::PASSWORD;
        let [newcomers, users] = [
            invitation(owner, "A newcomer", "member").await,
            invitation(owner, "A user", "member").await,
        ];
        let [newcomers, users] = [&newcomers, &users].map(|link| link.split_once("token=").unwrap().1);
        invitation(owner, "Nobody", "member").await;
        let invitations = owner.get(&format!("{SETTINGS}/members/invitations")).await;
        let revoked = id_before(&invitations, "/revoke");
        let session = id_before(&owner.get("/account").await, "/end\"");
        let (edited, selected) = (&self.key("Laptop").await, &self.key("Phone").await);
        let edit = member.get(&format!("{SETTINGS}/api-keys/{edited}/edit")).await;
        let version = edit.field("version");
        let (active, archived) = (&self.project("Notes").await, &self.archived_project().await);
        let grace = &self.grace.membership.id.to_string();
        let confirmed = [("confirm", "yes")];
        let settings = |path: &str| format!("/organizations/:slug/settings/{path}");
        let form = Form::new;
        vec![
            form(
                visitor,
                "/sign-in",
                "",
                &[("username", "ada"), ("password", password)],
            ),
            form(
                owner,
                &settings("members/invite"),
                "",
                &[
                    ("idempotency_key", IDEMPOTENCY_KEY),
                    ("invitee", "Ivan"),
                    ("role", "member"),
                ],
            ),
            form(owner, &settings("members/invitations/:id/revoke"), &revoked, &[]),
            form(
                &self.newcomer,
                "/join",
                "",
                &[
                    ("token", newcomers),
                    ("as", "newcomer"),
                    ("display_name", "Judy"),
                    ("username", "judy"),
                    ("password", "seven lamps burn low"),
                ],
            ),
            form(
                &self.outsider,
                "/join",
                "",
                &[("token", users), ("as", "user"), ("username", "dave")],
            ),
            form(owner, &settings("general/new-keys"), "", &[("manage_keys", "no")]),
            form(
                owner,
                &settings("general/key-life/apply"),
                "",
                &[("days", "60"), ("confirm", "yes")],
            ),
            form(owner, &settings("general/key-life"), "", &[("days", "90")]),
            form(
                member,
                &settings("api-keys/new"),
                "",
                &[
                    ("idempotency_key", IDEMPOTENCY_KEY),
                    ("name", "Deploy"),
                    ("description", ""),
                ],
            ),
            form(
                member,
                &settings("api-keys/:id/edit"),
                edited,
                &[("version", version), ("name", "Server"), ("description", "")],
            ),
            form(
                member,
                &settings("api-keys/:id/rotate"),
                edited,
                &[("idempotency_key", ROTATION_KEY), ("old_key_ends", "after_a_day")],
            ),
            form(member, &settings("api-keys/:id/revoke"), edited, &confirmed),
            form(
                owner,
                &settings("api-keys/all/revoke"),
                "",
                &[
                    (&format!("key-{selected}"), "on"),
                    ("note", "leaked"),
                    ("confirm", "yes"),
                ],
            ),
            form(
                owner,
                &settings("projects/new"),
                "",
                &[("idempotency_key", IDEMPOTENCY_KEY), ("name", "Third")],
            ),
            form(owner, &settings("projects/:id"), active, &[("name", "Renamed")]),
            form(
                owner,
                &settings("projects/:id/add-members"),
                active,
                &[("member", grace)],
            ),
            form(
                owner,
                &settings("projects/:id/remove-member"),
                active,
                &[("member", &self.ada.membership.id.to_string())],
            ),
            form(owner, &settings("projects/:id/archive"), active, &confirmed),
            form(owner, &settings("projects/:id/restore"), archived, &[]),
            form(&self.leaver, &settings("general/leave"), "", &confirmed),
            form(
                owner,
                &settings("members/:id/role"),
                grace,
                &[("role", "owner"), ("confirm", "yes")],
            ),
            form(
                owner,
                &settings("members/:id/expiration"),
                grace,
                &[("expiration", "90")],
            ),
            form(owner, &settings("members/:id/remove"), grace, &confirmed),
            form(owner, "/account/sessions/:id/end", &session, &[]),
            form(owner, "/account/sessions/end-others", "", &[]),
            form(
                owner,
                "/account/password",
                "",
                &[
                    ("current_password", password),
                    ("new_password", "seven lamps burn low"),
                ],
            ),
            form(owner, "/sign-out", "", &[]),
        ]
    }
}

/// A form that is filled in.
pub(crate) struct Form<'a> {
    pub(crate) sender: &'a Browser,
    route: String,
    pub(crate) path: String,
    fields: Vec<(String, String)>,
}

impl<'a> Form<'a> {
    fn new(sender: &'a Browser, route: &str, id: &str, fields: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            sender,
            path: route.replace(":slug", "acme").replace(":id", id),
            route: route.to_owned(),
            fields: fields.iter().map(owned).collect(),
        }
    }

    async fn send(&self) -> Answer {
        self.send_from(self.sender).await
    }

    pub(crate) async fn send_from(&self, browser: &Browser) -> Answer {
        let fields: Vec<(&str, &str)> = self
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        browser.post(&self.path, &fields).await
    }
}

/// An error of the storage, and the page for it.
struct Refusal {
    error: fn() -> StorageError,
    status: u16,
    words: &'static str,
}

const REFUSALS: [Refusal; 3] = [
    Refusal {
        error: || StorageError::Unavailable(CAUSE.into()),
        status: 503,
        words: "Wait a few seconds, then try again.",
    },
    Refusal {
        error: || StorageError::OutcomeUnknown(CAUSE.into()),
        status: 503,
        words: "Check whether the change was made",
    },
    Refusal {
        error: || StorageError::Defect(CAUSE.into()),
        status: 500,
        words: "give your administrator the request ID",
    },
];

/// The identifier before `end` in the page's first URL that contains `end`.
fn id_before(page: &Answer, end: &str) -> String {
    let (before, _) = page.body.split_once(end).expect(end);
    before.rsplit_once('/').unwrap().1.to_owned()
}

#[tokio::test]
async fn change_refused_by_storage_is_reported_and_not_made() {
    let scene = Scene::new(|_| ()).await;
    let forms = scene.forms().await;
    let routes: BTreeSet<&str> = forms.iter().map(|form| form.route.as_str()).collect();
    assert_eq!(
        routes.len() + 1,
        operations()
            .iter()
            .filter(|(method, _)| *method == "POST")
            .count(),
        "all but the first run's"
    );

    let store = &scene.running.installation.store;
    let before = store.events();
    for refusal in REFUSALS {
        store.refuse_changes(refusal.error);
        // Signing out also says what became of the browser, in a test of its own.
        for form in forms.iter().filter(|form| form.path != "/sign-out") {
            assert_says_so(&form.send().await, refusal.status, refusal.words, &form.path);
        }
    }
    assert_eq!(store.events(), before);

    // And nothing was half done: each of them works as if it was sent for the first time.
    store.allow_changes();
    for form in &forms {
        let answer = form.send().await;
        assert!(
            matches!(answer.status, 200 | 303),
            "{}: {}",
            form.path,
            answer.text()
        );
    }
}

#[tokio::test]
async fn setup_refused_by_storage_is_reported_and_can_be_repeated() {
    let running = Running::new().await;
    let link = running
        .installation
        .setup()
        .create_link(RequestSource::default())
        .await;
    let link = link.unwrap();
    let fields = [
        ("token", link.expose()),
        ("organization", "Acme"),
        ("display_name", "Ada"),
        ("username", "ada"),
        ("password", "seven lamps burn low"),
    ];
    let store = &running.installation.store;
    store.refuse_changes(|| StorageError::Defect(CAUSE.into()));
    let refused = running.visitor().post("/setup", &fields).await;
    assert_says_so(&refused, 500, "give your administrator the request ID", "/setup");
    store.allow_changes();
    assert_eq!(running.visitor().post("/setup", &fields).await.status, 303);
}
