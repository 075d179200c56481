//! What people see when storage refuses a change, or when one kind of thing cannot be read: a page that says what to do,
//! with the request's id, and never half of anything.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyward_console::Console;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::audit::RequestSource;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{DescendantKeys, StorageError};
use keyward_domain::testing::TestInstallation;

use crate::browser::{Answer, Browser};
use crate::invitations::invitation;
use crate::projects::{project, put_in};
use crate::running::{LIST, NEW, Running};

const ROUTES: &str = include_str!("../../src/routes.rs");
const SETTINGS: &str = "/organizations/acme/settings";
const NONCE: &str = "00000000000000000000000000000001";
const CAUSE: &str = "audit_events is on fire";

/// The organization `acme` with its owner `ada`, signed in twice, and its members `grace` and `heidi`; and `dave` of
/// another one.
struct Scene {
    running: Running,
    ada: Member,
    grace: Member,
    owner: Browser,
    member: Browser,
    leaver: Browser,
    outsider: Browser,
    visitor: Browser,
    newcomer: Browser,
}

impl Scene {
    async fn new(change: impl FnOnce(&mut Console)) -> Self {
        let running = Running::with(TestInstallation::new(), None, change).await;
        let acme = running.installation.organization("Acme");
        let elsewhere = running.installation.organization("Elsewhere");
        let ada = running.installation.member(&acme, "ada", Role::Owner);
        let grace = running.installation.member(&acme, "grace", Role::Member);
        running.installation.member(&acme, "heidi", Role::Member);
        running.installation.member(&elsewhere, "dave", Role::Member);
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

    async fn key(&self, name: &str) -> String {
        let holder = self.grace.as_holder();
        self.running
            .installation
            .issue(&holder, name)
            .await
            .key
            .id
            .to_string()
    }

    /// Grace is told who did it.
    async fn revoke_as_owner(&self, key: &str) {
        let selection = KeySelection::Keys {
            ids: vec![key.parse().unwrap()],
            descendants: DescendantKeys::Keep,
        };
        let authority = self.ada.as_authority().unwrap();
        let keys = self.running.installation.organization_keys();
        let revoked = keys
            .revoke(&authority, selection, None, RequestSource::default(), None)
            .await;
        assert_eq!(revoked.unwrap().count, 1);
    }

    async fn project(&self, name: &str) -> String {
        let project = project(&self.running, &self.ada, name).await;
        put_in(&self.running, &self.ada, &project, &self.ada).await;
        project.id.to_string()
    }

    async fn archived_project(&self) -> String {
        let project = project(&self.running, &self.ada, "Attic").await;
        let authority = self.ada.as_authority().unwrap();
        let projects = self.running.installation.projects();
        let archived = projects
            .archive(&authority, project.id, RequestSource::default())
            .await;
        archived.unwrap();
        project.id.to_string()
    }

    /// Every form of the console once the first run is over, filled in, in an order in which none takes away what the
    /// next one needs.
    async fn forms(&self) -> Vec<Form<'_>> {
        let (visitor, owner, member) = (&self.visitor, &self.owner, &self.member);
        let password = TestInstallation::PASSWORD;
        let [newcomers, users] = [
            invitation(owner, "A newcomer", "member").await,
            invitation(owner, "A user", "member").await,
        ];
        let [newcomers, users] = [&newcomers, &users].map(|link| link.split_once("token=").unwrap().1);
        invitation(owner, "Nobody", "member").await;
        let invitations = owner.get(&format!("{SETTINGS}/members/invitations")).await;
        let taken_back = id_before(&invitations, "/take-back");
        let session = id_before(&owner.get("/account").await, "/end\"");
        let (edited, selected) = (&self.key("Laptop").await, &self.key("Phone").await);
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
                &[("nonce", NONCE), ("invitee", "Ivan"), ("role", "member")],
            ),
            form(
                owner,
                &settings("members/invitations/:id/take-back"),
                &taken_back,
                &[],
            ),
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
            form(
                member,
                &settings("api-keys/new"),
                "",
                &[("nonce", NONCE), ("name", "Deploy"), ("description", "")],
            ),
            form(
                member,
                &settings("api-keys/:id/edit"),
                edited,
                &[("name", "Server"), ("description", "")],
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
            form(owner, &settings("projects/new"), "", &[("name", "Third")]),
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
struct Form<'a> {
    sender: &'a Browser,
    route: String,
    path: String,
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
        let fields: Vec<(&str, &str)> = self
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.sender.post(&self.path, &fields).await
    }
}

/// How storage refuses a change, and what people are told then.
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
        words: "Look whether the change is there",
    },
    Refusal {
        error: || StorageError::Defect(CAUSE.into()),
        status: 500,
        words: "tell your administrator the request id",
    },
];

/// The identifier that stands before this in the page's first address that ends so.
fn id_before(page: &Answer, end: &str) -> String {
    let (before, _) = page.body.split_once(end).expect(end);
    before.rsplit_once('/').unwrap().1.to_owned()
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
async fn a_change_that_storage_refuses_is_not_made_and_says_so() {
    let scene = Scene::new(|_| ()).await;
    let forms = scene.forms().await;
    let routes: BTreeSet<&str> = forms.iter().map(|form| form.route.as_str()).collect();
    assert_eq!(
        routes.len() + 1,
        ROUTES.matches(".post(").count(),
        "all but the first run's"
    );

    let store = &scene.running.installation.store;
    let before = store.events();
    for refusal in REFUSALS {
        store.refuse_changes(refusal.error);
        for form in &forms {
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
async fn a_first_run_that_storage_refuses_says_so_and_can_be_completed_later() {
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
    assert_says_so(&refused, 500, "tell your administrator the request id", "/setup");
    store.allow_changes();
    assert_eq!(running.visitor().post("/setup", &fields).await.status, 303);
}

/// One port that is down while the others answer.
struct Outage<'a> {
    take_down: fn(&mut Console, &TestInstallation),
    /// What an owner then asks for in vain.
    owner: &'a [&'a str],
    /// And a member.
    member: &'a [&'a str],
}

const OUTAGES: &[Outage<'_>] = &[
    Outage {
        take_down: |console, down| console.members = down.members(),
        owner: &["members", "members/{grace}", "members/{grace}/remove"],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.invitations = down.invitations(),
        owner: &["members/invitations"],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.joining = down.joining(),
        owner: &["/join?token={invitation}"],
        member: &["/join?token={invitation}"],
    },
    Outage {
        take_down: |console, down| console.projects = down.projects(),
        owner: &[
            "projects",
            "projects/{project}",
            "projects/{project}/archive",
            "projects/{project}/add-members",
        ],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.reachable_projects = Arc::new(down.store.clone()),
        owner: &[],
        member: &["projects"],
    },
    Outage {
        take_down: |console, down| console.organization_keys = down.organization_keys(),
        owner: &[
            "api-keys/all",
            "api-keys/all/{key}",
            "api-keys/all/revoke?key-{key}=on",
            "members/{grace}/remove",
        ],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.keys = down.keys(),
        owner: &["api-keys"],
        member: &["api-keys", "api-keys/{key}/edit", "api-keys/{key}/revoke"],
    },
    Outage {
        take_down: |console, down| console.names = Arc::new(down.store.clone()),
        owner: &[],
        member: &["api-keys?status=all"],
    },
    Outage {
        take_down: |console, down| console.audit_trail = down.audit_trail(),
        owner: &["audit-log", "audit-log/export.csv", "audit-log/export.jsonl"],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.own_account = down.own_account(),
        owner: &["/account"],
        member: &["/account"],
    },
    Outage {
        take_down: |console, down| console.memberships = Arc::new(down.store.clone()),
        owner: &[
            "/",
            "/account",
            "general",
            "members",
            "projects",
            "audit-log",
            "audit-log/export.csv",
        ],
        member: &[
            "/",
            "/account",
            "general",
            "general/leave",
            "api-keys",
            "projects",
        ],
    },
];

#[tokio::test]
async fn a_page_whose_storage_is_down_says_so_instead_of_showing_half_of_it() {
    let down = TestInstallation::new();
    down.store.go_down();
    for outage in OUTAGES {
        let scene = Scene::new(|console| (outage.take_down)(console, &down)).await;
        let (key, project) = (scene.key("Laptop").await, scene.project("Notes").await);
        scene.revoke_as_owner(&scene.key("Phone").await).await;
        for (browser, paths) in [(&scene.owner, outage.owner), (&scene.member, outage.member)] {
            for path in paths {
                let path = path
                    .replace("{grace}", &scene.grace.membership.id.to_string())
                    .replace("{key}", &key)
                    .replace("{project}", &project)
                    .replace("{invitation}", &"0".repeat(64));
                let path = if path.starts_with('/') {
                    path
                } else {
                    format!("{SETTINGS}/{path}")
                };
                let answer = browser.get(&path).await;
                assert_says_so(&answer, 503, "Wait a few seconds, then try again.", &path);
                assert_eq!(answer.header("content-disposition"), "", "{path}: no file");
            }
        }
    }
}

#[tokio::test]
async fn while_storage_is_down_every_page_says_so_with_the_request_id() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    running.installation.store.go_down();
    let fields = [("username", "ada"), ("password", TestInstallation::PASSWORD)];
    let visitor = running.visitor();
    for answer in [
        browser.get("/").await,
        browser.get(LIST).await,
        browser.post(NEW, &[]).await,
        browser.post("/sign-out", &[]).await,
        visitor.get("/").await,
        visitor.get("/setup").await,
        visitor.post("/sign-in", &fields).await,
    ] {
        assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
        assert!(answer.shows(answer.header("x-request-id")));
        assert!(answer.shows("Keyward cannot answer at the moment") && answer.shows("href=\"/\""));
        assert!(!answer.shows("taken down by a test"), "the cause is for the logs");
    }
    running.installation.store.come_back();
    assert_eq!(
        browser.get(LIST).await.status,
        200,
        "the session outlives the failure"
    );
}
