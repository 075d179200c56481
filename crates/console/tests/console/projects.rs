//! The list of projects, for owners and for members, and the form that creates one.

use std::collections::HashSet;

use keyward_domain::administration::Authority;
use keyward_domain::audit::RequestSource;
use keyward_domain::membership::{Member, Role};
use keyward_domain::project::{Project, ProjectName};
use reqwest::Method;

use crate::browser::{Answer, Browser};
use crate::running::Running;

pub(crate) const PROJECTS: &str = "/organizations/acme/settings/projects";
const NEW_PROJECT: &str = "/organizations/acme/settings/projects/new";

/// A project of an owner's organization.
pub(crate) async fn project(running: &Running, owner: &Member, name: &str) -> Project {
    let authority = owner.as_authority(owner.membership.joined_at).unwrap();
    let name = ProjectName::parse(name).unwrap();
    let projects = running.installation.projects();
    projects
        .create(&authority, name, None, RequestSource::default())
        .await
        .unwrap()
}

pub(crate) async fn put_in(running: &Running, owner: &Member, project: &Project, member: &Member) {
    let authority = owner.as_authority(owner.membership.joined_at).unwrap();
    let projects = running.installation.projects();
    let member = member.membership.id;
    projects
        .add_member(&authority, project.id, member, RequestSource::default())
        .await
        .unwrap();
}

pub(crate) async fn archive(running: &Running, owner: &Member, project: &Project) {
    let authority = owner.as_authority(owner.membership.joined_at).unwrap();
    let projects = running.installation.projects();
    projects
        .archive(&authority, project.id, RequestSource::default())
        .await
        .unwrap();
}

async fn create(browser: &Browser, idempotency_key: &str, name: &str) -> Answer {
    let fields = [("idempotency_key", idempotency_key), ("name", name)];
    browser.post(NEW_PROJECT, &fields).await
}

/// The names in the table, from its first row to its last.
fn names(list: &Answer) -> Vec<String> {
    let rows = list.body.split("<th role=\"rowheader\"").skip(1);
    rows.map(|row| {
        let (_, name) = row.split_once("<bdi>").unwrap();
        name.split_once("</bdi>").unwrap().0.to_owned()
    })
    .collect()
}

#[tokio::test]
async fn empty_project_list_explains_projects_and_links_to_creation() {
    let (running, ada) = Running::with_ada().await;
    running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let list = running.signed_in("ada").await.get(PROJECTS).await;
    assert!(list.shows("Create your first project") && list.shows(&format!("href=\"{NEW_PROJECT}\"")));
    let example = format!("{}/api/v1/user/projects</code>", running.public_url);
    assert!(list.shows("Bearer $KEYWARD_API_KEY") && list.shows(&example));
    assert!(!list.shows("<table") && !list.shows("id=\"search\""));
    let own = running.signed_in("grace").await.get(PROJECTS).await;
    assert!(own.shows("No projects yet") && own.shows(&example));
    assert!(!own.shows(NEW_PROJECT) && !own.shows("button primary"));
}

#[tokio::test]
async fn owner_sees_all_projects_with_member_counts() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let other = installation.organization("Other");
    let mary = installation.member(&other, "mary", Role::Owner);
    project(&running, &mary, "Foreign").await;
    let robots = project(&running, &ada, "Robots").await;
    project(&running, &ada, "Empty").await;
    for member in [&ada, &grace] {
        put_in(&running, &ada, &robots, member).await;
    }
    let list = running.signed_in("ada").await.get(PROJECTS).await;
    assert_eq!(names(&list), ["Empty", "Robots"]);
    let members: Vec<&str> = list
        .body
        .split("data-label=\"Members\">")
        .skip(1)
        .map(|rest| rest.split_once('<').unwrap().0)
        .collect();
    assert_eq!(members, ["0", "2"]);
    assert!(list.shows(&format!("href=\"{PROJECTS}/{}\"", robots.id)));
    assert!(list.shows("aria-current=\"page\">Projects</a>"));
}

#[tokio::test]
async fn search_and_status_narrow_the_list_and_preserve_each_other() {
    let (running, ada) = Running::with_ada().await;
    for name in ["Warehouse robots", "Nightly export"] {
        project(&running, &ada, name).await;
    }
    let old = project(&running, &ada, "Old robots").await;
    archive(&running, &ada, &old).await;
    let browser = running.signed_in("ada").await;
    let found = async |query: &str| {
        let list = browser.get(&format!("{PROJECTS}{query}")).await;
        assert_eq!(list.status, 200, "{query}");
        names(&list)
    };
    assert_eq!(found("").await, ["Nightly export", "Warehouse robots"]);
    assert_eq!(found("?status=archived").await, ["Old robots"]);
    assert_eq!(found("?status=all").await.len(), 3);
    assert_eq!(found("?search=ROBOTS").await, ["Warehouse robots"]);
    assert_eq!(
        found("?search=robots&status=all").await,
        ["Old robots", "Warehouse robots"]
    );
    assert!(found("?search=100%25").await.is_empty());
    let nothing = browser
        .get(&format!("{PROJECTS}?search=a%26b&status=archived"))
        .await;
    assert!(nothing.shows("No archived projects match") && nothing.shows("status=all&#38;search=a%26b"));
    let archived = browser.get(&format!("{PROJECTS}?status=archived")).await;
    assert!(archived.shows("<title>Archived projects · Acme · Keyward</title>"));
    assert!(archived.shows("1 archived project") && archived.shows("badge off"));
}

#[tokio::test]
async fn searched_token_is_removed_from_every_searchable_url() {
    let (running, ada) = Running::with_ada().await;
    let project = project(&running, &ada, "Bridges").await;
    let add_members = format!("{PROJECTS}/{}/add-members", project.id);
    let browser = running.signed_in("ada").await;
    let token = "kwp_000000000000000000000000000000002wjyrI";
    for list in ["/organizations/acme/settings/members", PROJECTS, &add_members] {
        let answer = browser.get(&format!("{list}?search={token}")).await;
        assert_eq!(answer.status, 303, "{list}");
        assert_eq!(answer.location(), format!("{list}?search=jyrI"));
        let next = browser.follow(&answer).await;
        assert_eq!(next.status, 200, "{list}");
        assert!(!answer.shows(token) && !next.shows(token), "{list}");
    }
}

#[tokio::test]
async fn token_in_the_path_of_another_host_redirects_nowhere() {
    let running = Running::new().await;
    let token = "kwp_000000000000000000000000000000002wjyrI";
    for path in ["//evil.example/", "//evil.example"] {
        let answer = running.visitor().get(&format!("{path}?search={token}")).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.shows(token), "{path}");
    }
}

#[tokio::test]
async fn thousands_of_projects_paginate_to_the_end() {
    const COUNT: usize = 1_234;
    const PER_PAGE: usize = 50;
    let (running, ada) = Running::with_ada().await;
    // Ada herself may not create this many at once.
    let authority = Authority::of_administrator(ada.organization.id);
    let projects = running.installation.projects();
    for number in 0..COUNT {
        let name = ProjectName::parse(&format!("Project {number}")).unwrap();
        let created = projects.create(&authority, name, None, RequestSource::default());
        created.await.unwrap();
    }
    let browser = running.signed_in("ada").await;
    let mut seen = HashSet::new();
    let mut pages = 0;
    let mut next = Some(PROJECTS.to_owned());
    while let Some(address) = next {
        let page = browser.get(&address).await;
        for name in names(&page) {
            assert!(seen.insert(name.clone()), "{name} twice");
        }
        pages += 1;
        next = page.next_page();
    }
    assert_eq!((seen.len(), pages), (COUNT, COUNT.div_ceil(PER_PAGE)));
}

#[tokio::test]
async fn member_sees_reachable_projects_without_controls() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let mut own = Vec::new();
    for number in 0..55 {
        let project = project(&running, &ada, &format!("Own {number}")).await;
        put_in(&running, &ada, &project, &grace).await;
        own.push(project);
    }
    project(&running, &ada, "Ada's").await;
    archive(&running, &ada, &own[54]).await;
    let browser = running.signed_in("grace").await;
    let first = browser.get(PROJECTS).await;
    let second = browser.get(&first.next_page().unwrap()).await;
    let expected: Vec<String> = (0..54).rev().map(|number| format!("Own {number}")).collect();
    assert_eq!([names(&first), names(&second)].concat(), expected);
    assert!(first.shows(&own[53].id.to_string()));
    let owners_link = browser.get(&format!("{PROJECTS}?search=nothing")).await;
    assert!(names(&owners_link) == names(&first) && !owners_link.shows("nothing"));
    for page in [&first, &second] {
        let (_, main) = page.body.split_once("<main").unwrap();
        assert!(!main.contains("<form") && !main.contains("/projects/") && !main.contains("button primary"));
    }
}

#[tokio::test]
async fn creating_a_project_opens_its_page_with_notice() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let form = browser.get(NEW_PROJECT).await;
    assert!(form.shows("name=\"name\"") && form.shows("dir=\"auto\""));
    let answer = create(&browser, form.field("idempotency_key"), "  مشروع 🛰️ ").await;
    assert!(
        answer.location().starts_with(&format!("{PROJECTS}/")),
        "{}",
        answer.location()
    );
    let page = browser.follow(&answer).await;
    assert!(page.shows("role=\"status\"") && page.shows("<strong><bdi>مشروع 🛰️</bdi></strong> was created"));
    assert!(page.shows("No members yet"));
    assert_eq!(names(&browser.get(PROJECTS).await), ["مشروع 🛰️"]);
}

#[tokio::test]
async fn invalid_project_name_shows_field_error_and_preserves_input() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let form = browser.get(NEW_PROJECT).await;
    let key = form.field("idempotency_key");
    for (name, error) in [
        (" ", "Name must not be empty."),
        (
            &*"w".repeat(101),
            "Name must be at most 100 characters long, not 101.",
        ),
        ("a\u{202e}b", "Name must not contain the character U+202E."),
    ] {
        let page = create(&browser, key, name).await;
        assert_eq!(page.status, 422);
        assert_eq!(page.field("idempotency_key"), key);
        assert!(page.shows("id=\"name-error\"") && page.shows("aria-invalid"));
        assert!(page.shows(error), "{}", page.text());
        assert!(page.shows(&format!("value=\"{name}\"")));
    }
    assert!(browser.get(PROJECTS).await.shows("Create your first project"));
    let created = create(&browser, key, "corrected").await;
    assert!(browser.follow(&created).await.shows("was created"));
}

/// A double click, a reload of the answer, or Back and another name.
#[tokio::test]
async fn repeated_project_form_leads_to_the_project_it_created() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let form = browser.get(NEW_PROJECT).await;
    let key = form.field("idempotency_key");
    let created = create(&browser, key, "Robots").await;
    for name in ["Robots", "Rockets"] {
        let again = create(&browser, key, name).await;
        assert_eq!(again.location(), created.location());
        let page = browser.follow(&again).await;
        let notice = "The project Robots was already created, and no second one was made.";
        assert!(page.text().contains(notice), "{}", page.text());
    }
    assert_eq!(names(&browser.get(PROJECTS).await), ["Robots"]);
    let another = browser.get(NEW_PROJECT).await;
    create(&browser, another.field("idempotency_key"), "Robots").await;
    assert_eq!(names(&browser.get(PROJECTS).await), ["Robots", "Robots"]);
}

#[tokio::test]
async fn double_click_on_create_project_creates_one_project() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let form = browser.get(NEW_PROJECT).await;
    let key = form.field("idempotency_key");
    let (first, second) = tokio::join!(create(&browser, key, "Robots"), create(&browser, key, "Robots"));
    assert_eq!(first.location(), second.location());
    assert_eq!(names(&browser.get(PROJECTS).await), ["Robots"]);
}

#[tokio::test]
async fn project_form_without_a_valid_idempotency_key_creates_nothing() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for fields in [
        &[("name", "Robots")][..],
        &[("idempotency_key", "zzz"), ("name", "Robots")],
    ] {
        assert_eq!(browser.post(NEW_PROJECT, fields).await.status, 400, "{fields:?}");
    }
    assert!(browser.get(PROJECTS).await.shows("Create your first project"));
}

#[tokio::test]
async fn mistyped_query_shows_an_explanation() {
    let (running, ada) = Running::with_ada().await;
    running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let owner = running.signed_in("ada").await;
    for query in ["?status=lost", "?after=1", "?search=a&search=b", "?search=%ff"] {
        let page = owner.get(&format!("{PROJECTS}{query}")).await;
        assert_eq!(page.status, 400, "{query}");
    }
    let member = running.signed_in("grace").await;
    assert_eq!(member.get(&format!("{PROJECTS}?after=1")).await.status, 400);
}

/// Members and strangers cannot tell an owner's pages from pages that do not exist.
#[tokio::test]
async fn owner_pages_are_not_found_for_non_owners() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let other = installation.organization("Other");
    installation.member(&other, "mary", Role::Owner);
    let robots = project(&running, &ada, "Robots").await;
    put_in(&running, &ada, &robots, &grace).await;
    let one = format!("{PROJECTS}/{}", robots.id);
    let events = installation.store.events().len();
    for username in ["grace", "mary"] {
        let browser = running.signed_in(username).await;
        let page_of = |answer: Answer| {
            assert_eq!(answer.status, 404);
            answer.body.replace(answer.header("x-request-id"), "")
        };
        let nowhere = page_of(browser.get(&format!("{PROJECTS}/no/such/page")).await);
        let ada = ada.membership.id.to_string();
        for path in ["", "/archive", "/add-members"] {
            assert_eq!(page_of(browser.get(&format!("{one}{path}")).await), nowhere);
        }
        assert_eq!(page_of(browser.get(NEW_PROJECT).await), nowhere);
        for path in ["", "/archive", "/restore", "/add-members", "/remove-member"] {
            let fields = [("name", "Mine"), ("confirm", "yes"), ("member", ada.as_str())];
            let answer = browser.post(&format!("{one}{path}"), &fields).await;
            assert_eq!(page_of(answer), nowhere, "{username} {path}");
        }
        let answer = create(&browser, &"0".repeat(32), "Mine").await;
        assert_eq!(page_of(answer), nowhere);
    }
    let signed_in_in_two_logs = 2 * 2;
    assert_eq!(installation.store.events().len(), events + signed_in_in_two_logs);
    assert_eq!(
        names(&running.signed_in("ada").await.get(PROJECTS).await),
        ["Robots"]
    );
}

#[tokio::test]
async fn cross_site_form_changes_no_project() {
    let (running, ada) = Running::with_ada().await;
    let robots = project(&running, &ada, "Robots").await;
    let browser = running.signed_in("ada").await;
    for path in [
        NEW_PROJECT.to_owned(),
        format!("{PROJECTS}/{}", robots.id),
        format!("{PROJECTS}/{}/archive", robots.id),
    ] {
        let request = browser
            .request(Method::POST, &path)
            .header("sec-fetch-site", "cross-site")
            .header("content-type", "application/x-www-form-urlencoded")
            .body("name=Theirs&confirm=yes");
        assert_eq!(browser.send(request).await.status, 403, "{path}");
    }
    assert_eq!(names(&browser.get(PROJECTS).await), ["Robots"]);
}

/// Their role ended while the form was on its way.
#[tokio::test]
async fn former_owner_creates_no_project() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let mary = installation.member(&ada.organization, "mary", Role::Owner);
    let browser = running.signed_in("ada").await;
    let authority = mary.as_authority(mary.membership.joined_at).unwrap();
    let origin = running.public_url.to_string();
    let body = format!("idempotency_key={:032}&name=Late", 0);
    let answer = browser
        .post_slowly(&origin, NEW_PROJECT, &body, async {
            installation
                .members()
                .change_role(
                    &authority,
                    ada.membership.id,
                    Role::Member,
                    RequestSource::default(),
                )
                .await
                .unwrap();
        })
        .await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let list = running.signed_in("mary").await.get(PROJECTS).await;
    assert!(list.shows("Create your first project"));
}

#[tokio::test]
async fn html_in_project_name_is_escaped() {
    let (running, ada) = Running::with_ada().await;
    let script = "<script>alert(1)</script>\"'&";
    let robots = project(&running, &ada, script).await;
    put_in(&running, &ada, &robots, &ada).await;
    let browser = running.signed_in("ada").await;
    let one = format!("{PROJECTS}/{}", robots.id);
    for path in [
        PROJECTS.to_owned(),
        format!("{PROJECTS}?search=%3Cscript%3Ealert(1)"),
        one.clone(),
        format!("{one}/archive"),
        format!("{one}/add-members?search=%22%3E%3Cscript%3Ealert(2)"),
    ] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.shows("<script>alert"), "{path}");
    }
    let page = browser
        .post(&one, &[("name", &format!("{script}{}", "x".repeat(100)))])
        .await;
    assert_eq!(page.status, 422);
    assert!(!page.shows("<script>alert"));
}
