//! One project: renaming, archiving and restoring it, and its members.

use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::ReachableProjects;
use keyward_domain::project::Project;

use crate::browser::Browser;
use crate::projects::{PROJECTS, archive, project, put_in};
use crate::running::Running;

/// The project `Robots`, with ada, its signed-in owner, and grace, who may be added to it.
async fn robots() -> (Running, Browser, Member, Member, Project) {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let robots = project(&running, &ada, "Robots").await;
    let browser = running.signed_in("ada").await;
    (running, browser, ada, grace, robots)
}

fn path(project: &Project, page: &str) -> String {
    format!("{PROJECTS}/{}{page}", project.id)
}

/// Whether a key reaches the project at this moment.
async fn reaches(running: &Running, key: &IssuedKey, project: &Project) -> bool {
    let caller = running.installation.caller(key).await;
    let found = ReachableProjects::find(
        &running.installation.store,
        caller.consumer().id,
        project.id,
        caller.accepted_at(),
    )
    .await;
    found.unwrap().is_some()
}

fn id(member: &Member) -> String {
    member.membership.id.to_string()
}

#[tokio::test]
async fn renaming_a_project_shows_notice() {
    let (_running, browser, _, _, robots) = robots().await;
    let page = browser.get(&path(&robots, "")).await;
    assert!(page.shows("<h1><bdi>Robots</bdi></h1>") && page.shows(&robots.id.to_string()));
    assert!(
        page.shows("role=\"status\" data-copied></p>"),
        "there before it says something"
    );
    let answer = browser.post(&path(&robots, ""), &[("name", "Arms")]).await;
    let page = browser.follow(&answer).await;
    assert!(page.text().contains("The project was renamed to Arms."));
    assert!(page.shows("<h1><bdi>Arms</bdi></h1>"));
}

#[tokio::test]
async fn invalid_project_name_shows_error_and_keeps_the_old_name() {
    let (_running, browser, _, _, robots) = robots().await;
    let page = browser.post(&path(&robots, ""), &[("name", " ")]).await;
    assert_eq!(page.status, 422);
    assert!(page.shows("id=\"name-error\"") && page.shows("<title>Error: Robots"));
    assert!(page.shows("<h1><bdi>Robots</bdi></h1>"));
}

#[tokio::test]
async fn archiving_explains_consequences_and_requires_confirmation() {
    let (running, browser, ada, grace, robots) = robots().await;
    put_in(&running, &ada, &robots, &grace).await;
    let key = running.installation.issue(&grace.as_holder(), "Grace's").await;
    let question = browser.get(&path(&robots, "/archive")).await;
    let text = question.text();
    assert!(text.contains("Archive “Robots”?") && text.contains("They keep working for everything else"));
    assert!(
        text.contains("its 1 member lose access to it immediately") && text.contains("You can restore it")
    );

    let unconfirmed = browser.post(&path(&robots, "/archive"), &[]).await;
    assert_eq!(unconfirmed.status, 422);
    assert!(unconfirmed.shows("Check the box to archive."));
    assert!(unconfirmed.shows("I understand that no keys will have access to this project"));
    assert!(reaches(&running, &key, &robots).await);

    let answer = browser
        .post(&path(&robots, "/archive"), &[("confirm", "yes")])
        .await;
    let page = browser.follow(&answer).await;
    assert!(
        page.text()
            .contains("Robots was archived. Keys no longer have access to it.")
    );
    assert!(!reaches(&running, &key, &robots).await);
    let again = browser.get(&path(&robots, "/archive")).await;
    assert!(again.shows("This project is archived") && !again.shows("name=\"confirm\""));
}

#[tokio::test]
async fn restoring_a_project_restores_its_members() {
    let (running, browser, ada, grace, robots) = robots().await;
    put_in(&running, &ada, &robots, &grace).await;
    let key = running.installation.issue(&grace.as_holder(), "Grace's").await;
    archive(&running, &ada, &robots).await;
    let answer = browser.post(&path(&robots, "/restore"), &[]).await;
    let page = browser.follow(&answer).await;
    assert!(page.text().contains("Robots was restored."));
    assert!(page.shows(&id(&grace)));
    assert!(reaches(&running, &key, &robots).await);
}

#[tokio::test]
async fn repeated_project_change_succeeds_with_one_event() {
    let (running, browser, _, grace, robots) = robots().await;
    let grace = id(&grace);
    for (page, fields) in [
        ("", [("name", "Arms")]),
        ("/add-members", [("member", grace.as_str())]),
        ("/archive", [("confirm", "yes")]),
        ("/restore", [("", "")]),
        ("/remove-member", [("member", grace.as_str())]),
    ] {
        let before = running.installation.store.events().len();
        for _ in 0..2 {
            let answer = browser.post(&path(&robots, page), &fields).await;
            assert_eq!(browser.follow(&answer).await.status, 200, "{page}");
        }
        assert_eq!(running.installation.store.events().len(), before + 1, "{page}");
    }
}

#[tokio::test]
async fn members_are_searched_and_added_to_a_project_individually() {
    let (running, browser, ada, grace, robots) = robots().await;
    let installation = &running.installation;
    let other = installation.organization("Other");
    installation.member(&other, "mary", Role::Owner);
    let key = installation.issue(&grace.as_holder(), "Grace's").await;
    put_in(&running, &ada, &robots, &ada).await;

    let all = browser.get(&path(&robots, "/add-members")).await;
    assert!(all.shows(&id(&grace)) && !all.shows(">mary<"));
    assert!(!all.shows(&id(&ada)) && all.shows("badge on"), "ada is in it");
    let found = browser.get(&path(&robots, "/add-members?search=GRA")).await;
    assert!(found.text().contains("1 member that matches “GRA”"));
    let action = format!("action=\"{}\"", path(&robots, "/add-members?search=GRA"));
    assert!(found.shows(&action), "{}", found.body);

    let answer = browser
        .post(
            &path(&robots, "/add-members?search=GRA"),
            &[("member", &id(&grace))],
        )
        .await;
    let page = browser.follow(&answer).await;
    assert!(page.shows("role=\"status\"") && page.shows("value=\"GRA\""));
    assert!(!page.shows("name=\"member\""), "no member is left to add");
    assert!(reaches(&running, &key, &robots).await);

    let none = browser.get(&path(&robots, "/add-members?search=mary")).await;
    assert!(none.shows("No members match"));
}

#[tokio::test]
async fn member_removed_from_project_stays_member_without_reaching_the_project() {
    let (running, browser, ada, grace, robots) = robots().await;
    put_in(&running, &ada, &robots, &grace).await;
    let key = running.installation.issue(&grace.as_holder(), "Grace's").await;
    let answer = browser
        .post(&path(&robots, "/remove-member"), &[("member", &id(&grace))])
        .await;
    let page = browser.follow(&answer).await;
    assert!(
        page.text()
            .contains("was removed from the project. Their keys no longer have access to it.")
    );
    assert!(!reaches(&running, &key, &robots).await);
    // Any link can lead to this page with these words, so adding them takes a page that asks.
    let adding = path(&robots, "/add-members?search=grace");
    assert!(page.shows(&format!("href=\"{adding}\"")), "{}", page.body);
    let adding = browser.get(&adding).await;
    assert_eq!(adding.field("member"), id(&grace));
    let again = browser
        .post(
            &path(&robots, "/add-members?then=project"),
            &[("member", &id(&grace))],
        )
        .await;
    assert!(browser.follow(&again).await.text().contains("was added."));
    assert!(reaches(&running, &key, &robots).await);
    browser
        .post(&path(&robots, "/remove-member"), &[("member", &id(&grace))])
        .await;
    assert!(
        browser
            .get(&path(&robots, "/add-members"))
            .await
            .shows(&id(&grace))
    );
}

/// Running an organization is no membership of its projects.
#[tokio::test]
async fn owner_outside_a_project_sees_that_keys_cannot_reach() {
    let (running, browser, ada, _, robots) = robots().await;
    let key = running.installation.issue(&ada.as_holder(), "Ada's").await;
    let page = browser.get(&path(&robots, "")).await;
    assert!(page.text().contains("Your keys don’t have access."));
    assert!(!reaches(&running, &key, &robots).await);
    let answer = browser
        .post(
            &path(&robots, "/add-members?then=project"),
            &[("member", page.field("member"))],
        )
        .await;
    let page = browser.follow(&answer).await;
    assert!(page.text().contains("was added.") && page.text().contains("Your keys have access."));
    assert!(reaches(&running, &key, &robots).await);
}

#[tokio::test]
async fn hundreds_of_project_members_paginate_and_are_not_offered_again() {
    const COUNT: usize = 130;
    let (running, browser, ada, _, robots) = robots().await;
    for number in 0..COUNT {
        let username = format!("member{number}");
        let member = running
            .installation
            .member(&ada.organization, &username, Role::Member);
        // All but every tenth.
        if number % 10 != 0 {
            put_in(&running, &ada, &robots, &member).await;
        }
    }
    let mut rows = 0;
    let mut next = Some(path(&robots, ""));
    while let Some(address) = next {
        let page = browser.get(&address).await;
        assert!(page.shows("117 members"));
        rows += page.body.matches("role=\"rowheader\"").count();
        next = page.next_page();
    }
    assert_eq!(rows, 117);

    let (mut inside, mut outside) = (0, 0);
    let mut next = Some(path(&robots, "/add-members"));
    while let Some(address) = next {
        let page = browser.get(&address).await;
        inside += page.body.matches("badge on").count();
        outside += page.body.matches("name=\"member\"").count();
        next = page.next_page();
    }
    assert_eq!((inside, outside), (117, 15), "13, ada and grace");
}

#[tokio::test]
async fn foreign_projects_and_members_are_not_found() {
    let (running, browser, _, grace, robots) = robots().await;
    let installation = &running.installation;
    let other = installation.organization("Other");
    let mary = installation.member(&other, "mary", Role::Owner);
    let foreign = project(&running, &mary, "Foreign").await;
    let events = installation.store.events().len();
    let mut answers = Vec::new();
    for id in [foreign.id.to_string(), "not-an-id".to_owned(), "%ff".to_owned()] {
        for page in ["", "/archive", "/add-members"] {
            answers.push(browser.get(&format!("{PROJECTS}/{id}{page}")).await);
        }
        let grace = grace.membership.id.to_string();
        let fields = [("name", "Ours"), ("confirm", "yes"), ("member", grace.as_str())];
        for page in ["", "/archive", "/restore", "/add-members", "/remove-member"] {
            answers.push(browser.post(&format!("{PROJECTS}/{id}{page}"), &fields).await);
        }
    }
    for member in [id(&mary), "nobody".to_owned()] {
        for page in ["/add-members", "/remove-member"] {
            let fields = [("member", member.as_str())];
            answers.push(browser.post(&path(&robots, page), &fields).await);
        }
    }
    let pages: Vec<String> = answers
        .iter()
        .map(|answer| {
            assert_eq!(answer.status, 404, "{}", answer.body);
            answer.body.replace(answer.header("x-request-id"), "")
        })
        .collect();
    assert!(pages.iter().all(|page| *page == pages[0]));
    assert_eq!(installation.store.events().len(), events);
}

#[tokio::test]
async fn names_are_rendered_in_their_own_direction() {
    let (running, ada) = Running::with_ada().await;
    let name = "مرصد الخليج";
    let project = project(&running, &ada, name).await;
    let browser = running.signed_in("ada").await;
    for page in ["", "/archive", "/add-members"] {
        let page = browser.get(&path(&project, page)).await;
        for (start, _) in page.body.match_indices(name) {
            let before = &page.body[..start];
            let isolated = ["<bdi>", "value=\"", "<title>", "<title>Archive “", ", "];
            assert!(
                isolated.iter().any(|isolated| before.ends_with(isolated)),
                "{}",
                &before[before.len() - 60..]
            );
        }
    }
}
