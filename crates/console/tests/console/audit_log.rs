use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{AuditLog, DescendantKeys};
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::DisplayName;

use crate::browser::{Answer, form};
use crate::log::Log;
use crate::running::Running;

const LOG: &str = "/organizations/acme/settings/audit-log";
const CSV: &str = "/organizations/acme/settings/audit-log/export.csv";
const JSON_LINES: &str = "/organizations/acme/settings/audit-log/export.jsonl";

async fn record(
    installation: &TestInstallation,
    member: &Member,
    actor: Actor,
    action: Action,
    subject: Subject,
    object: Option<Subject>,
) -> AuditEvent {
    let mut act = installation.builder.act(actor);
    act.organization_id = Some(member.organization.id);
    act.source = RequestSource {
        address: Some([203, 0, 113, 9].into()),
        request_id: Some("request-17".to_owned()),
    };
    let event = AuditEvent {
        object,
        ..act.event(action, subject)
    };
    installation.store.record(event.clone()).await.unwrap();
    event
}

fn as_owner(member: &Member) -> Actor {
    Actor::User(member.user.id)
}

/// The text of the events alone.
fn events(answer: &Answer) -> String {
    let (_, table) = answer.body.split_once("<tbody").expect("a table");
    let (table, _) = table.split_once("</tbody>").unwrap();
    Answer {
        status: answer.status,
        headers: answer.headers.clone(),
        body: format!("<tbody{table}"),
    }
    .text()
}

#[tokio::test]
async fn events_are_sentences_with_time_address_request_and_outcome() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let subject = Subject::Membership(grace.membership.id);
    let event = record(
        installation,
        &ada,
        as_owner(&ada),
        Action::MakeOwner,
        subject,
        None,
    )
    .await;
    let refused = AuditEvent {
        id: installation.builder.ids.next(),
        outcome: Outcome::Refused,
        action: Action::RemoveMember,
        ..event
    };
    installation.store.record(refused).await.unwrap();
    let page = running.signed_in("ada").await.get(LOG).await;
    assert_eq!(page.status, 200);
    let text = events(&page);
    assert!(text.contains("ada made grace an owner"), "{text}");
    assert!(text.contains("ada removed grace from the organization"), "{text}");
    assert!(
        text.contains("203.0.113.9") && text.contains("Request request-17"),
        "{text}"
    );
    assert!(text.contains("Done") && text.contains("Refused"), "{text}");
    assert!(
        page.shows("<time datetime=\"2026-01-01T00:00:00.000Z\" title=\"1 January 2026, 00:00:00 UTC\">")
    );
}

#[tokio::test]
async fn every_action_has_a_sentence_and_names_who_acts() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key.id;
    for actor in [
        as_owner(&ada),
        Actor::ApiKey(key),
        Actor::Administrator,
        Actor::Anonymous,
    ] {
        for action in Action::ALL {
            record(
                installation,
                &ada,
                actor,
                *action,
                Subject::ApiKey(key),
                Some(Subject::ApiKey(key)),
            )
            .await;
        }
    }
    let browser = running.signed_in("ada").await;
    for (who, name) in [
        (format!("user%3A{}", ada.user.id), "ada"),
        (format!("api_key%3A{key}"), "The API key Deploy"),
        ("administrator%3A".to_owned(), "An administrator on the server"),
        ("anonymous%3A".to_owned(), "Somebody who was not signed in"),
    ] {
        for action in Action::ALL {
            let word = action.as_str();
            let page = browser.get(&format!("{LOG}?who={who}&action={word}")).await;
            let text = events(&page);
            assert!(text.contains(&format!("{name} ")), "{word}: {text}");
        }
    }
}

#[tokio::test]
async fn who_is_called_alike_is_told_apart_by_username() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let mut impostor = installation.builder.user("mallory");
    impostor.display_name = DisplayName::parse("ada").unwrap();
    let membership = installation
        .builder
        .membership(&ada.organization, &impostor, Role::Member);
    let hash = keyward_domain::sign_in::password::PasswordHash::from_phc_string("none".to_owned());
    installation.store.put_user(impostor.clone(), hash);
    installation.store.put_membership(membership.clone());
    for (actor, subject) in [(ada.user.id, membership.id), (impostor.id, ada.membership.id)] {
        let (actor, subject) = (Actor::User(actor), Subject::Membership(subject));
        record(installation, &ada, actor, Action::RemoveMember, subject, None).await;
    }
    let browser = running.signed_in("ada").await;
    let text = events(&browser.get(LOG).await);
    for sentence in [
        "ada removed ada mallory from the organization",
        "ada mallory removed ada from the organization",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    let chosen = browser.get(&format!("{LOG}?who=mallory")).await;
    assert!(chosen.text().contains("ada mallory"), "{}", chosen.text());
}

#[tokio::test]
async fn what_is_gone_is_shown_by_its_identifier() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let gone = installation.builder.ids.next();
    let project = Subject::Project(gone);
    record(
        installation,
        &ada,
        as_owner(&ada),
        Action::CreateProject,
        project,
        None,
    )
    .await;
    let text = events(&running.signed_in("ada").await.get(LOG).await);
    assert!(
        text.contains(&format!("ada created the project {gone}")),
        "{text}"
    );
}

#[tokio::test]
async fn the_log_is_for_owners_and_looks_like_nothing_to_all_others() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    installation.member(&ada.organization, "grace", Role::Member);
    let other = installation.organization("Other");
    installation.member(&other, "bob", Role::Owner);
    for path in [LOG, CSV, JSON_LINES] {
        assert_eq!(
            running.signed_in("ada").await.get(path).await.status,
            200,
            "{path}"
        );
        for username in ["grace", "bob"] {
            let browser = running.signed_in(username).await;
            let answer = browser.get(path).await;
            assert_eq!(answer.status, 404, "{username} {path}");
            let nothing = browser.get("/organizations/nowhere/settings/general").await;
            let id = |answer: &Answer| answer.body.replace(answer.header("x-request-id"), "");
            assert_eq!(id(&answer), id(&nothing));
        }
        let answer = running.visitor().get(path).await;
        assert_eq!(answer.status, 303, "{path}");
    }
    let (owner, member) = (running.signed_in("ada").await, running.signed_in("grace").await);
    let general = "/organizations/acme/settings/general";
    assert!(owner.get(general).await.shows(LOG));
    assert!(!member.get(general).await.shows(LOG));
}

#[tokio::test]
async fn a_former_owner_sees_the_log_no_more() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    assert_eq!(browser.get(CSV).await.status, 200);
    let now = running.installation.builder.clock.now();
    running.installation.store.end_membership(ada.membership.id, now);
    for path in [LOG, CSV, JSON_LINES] {
        assert_eq!(browser.get(path).await.status, 404);
    }
}

#[tokio::test]
async fn filters_narrow_the_log_and_stay_in_the_form() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Owner);
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key.id;
    installation.builder.clock.advance(TimeDelta::days(10));
    installation.issue(&grace.as_holder(), "Nightly").await;
    let (holder, source) = (ada.as_holder(), RequestSource::default());
    let keys = installation.keys();
    keys.revoke(&holder, key, DescendantKeys::Keep, source)
        .await
        .unwrap();
    let browser = running.signed_in("ada").await;
    let found = async |query: &str| {
        let page = browser.get(&format!("{LOG}?{query}")).await;
        assert_eq!(page.status, 200, "{query}");
        let text = page.text();
        [
            "ada created the API key Deploy",
            "grace created the API key Nightly",
            "ada revoked the API key Deploy",
        ]
        .map(|sentence| text.contains(sentence))
    };
    for (query, expected) in [
        ("", [true, true, true]),
        ("who=&action=&what=&from=&until=", [true, true, true]),
        ("who=grace", [false, true, false]),
        (&format!("who={}", ada.user.id), [true, false, true]),
        ("action=api_key.revoke", [false, false, true]),
        (&format!("what={key}"), [true, false, true]),
        (
            &format!("what=api_key%3A{key}&action=api_key.create"),
            [true, false, false],
        ),
        ("until=2026-01-10", [true, false, false]),
        ("from=2026-01-11", [false, true, true]),
        ("from=2026-01-01&until=2026-01-01", [true, false, false]),
        ("from=2026-01-02&until=2026-01-10", [false, false, false]),
        (
            "who=ada&from=2026-01-02&action=api_key.revoke",
            [false, false, true],
        ),
    ] {
        assert_eq!(found(query).await, expected, "{query}");
    }
    let page = browser
        .get(&format!("{LOG}?who=grace&action=api_key.revoke&from=2026-01-02"))
        .await;
    assert!(page.shows("No event matches"));
    assert_eq!(page.field("who"), format!("user:{}", grace.user.id));
    assert!(page.shows("value=\"api_key.revoke\" selected") && page.shows("value=\"2026-01-02\""));
    let csv = format!(
        "{CSV}?who=user%3A{}&#38;action=api_key.revoke&#38;from=2026-01-02",
        grace.user.id
    );
    assert!(page.shows(&csv), "{}", page.body);
}

#[tokio::test]
async fn names_in_a_row_lead_to_all_that_they_were_in() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key.id;
    let browser = running.signed_in("ada").await;
    let page = browser.get(&format!("{LOG}?action=api_key.create")).await;
    let what = format!("{LOG}?action=api_key.create&#38;what=api_key%3A{key}");
    let who = format!("{LOG}?who=user%3A{}&#38;action=api_key.create", ada.user.id);
    assert!(page.shows(&what) && page.shows(&who), "{}", page.body);
    let page = browser.get(&what.replace("&#38;", "&")).await;
    assert!(page.text().contains("ada created the API key Deploy"));
}

#[tokio::test]
async fn what_was_mistyped_is_told_beside_its_field() {
    let (running, _) = Running::with_ada().await;
    let installation = &running.installation;
    let other = installation.organization("Other");
    let bob = installation.member(&other, "bob", Role::Owner);
    let browser = running.signed_in("ada").await;
    let strangers = format!("what={}", bob.membership.id);
    for (query, error) in [
        ("who=nobody", "Nobody here is called that."),
        ("who=bob", "Nobody here is called that."),
        ("who=%3Cscript%3Ealert(1)", "Nobody here is called that."),
        ("what=Deploy", "Nothing here has this id."),
        (&strangers, "Nothing here has this id."),
        ("who=10:30", "Nobody here is called that."),
        ("who=king%3A1", "Nobody here is called that."),
        ("who=user%3A1", "Nobody here is called that."),
        ("what=10:30", "Nothing here has this id."),
        ("what=user%3A", "Nothing here has this id."),
        ("from=-9999-01-01", "This is not a day."),
        ("from=0000-12-31", "This is not a day."),
        ("until=-200000-01-01", "This is not a day."),
        ("until=%2B10000-01-01", "This is not a day."),
        ("from=tomorrow", "This is not a day. Write it like 2026-01-31."),
        ("until=2026-02-30", "This is not a day."),
        ("from=2026-02-02&until=2026-02-01", "Until is before From."),
    ] {
        let page = browser.get(&format!("{LOG}?{query}")).await;
        assert_eq!(page.status, 422, "{query}");
        assert!(
            page.shows(error) && page.shows("aria-invalid=\"true\""),
            "{query}"
        );
        assert!(page.shows("<title>Error: ") && !page.shows("<table"), "{query}");
        assert!(!page.shows("<script>alert"), "{query}");
        for export in [CSV, JSON_LINES] {
            assert_eq!(
                browser.get(&format!("{export}?{query}")).await.status,
                400,
                "{query}"
            );
        }
    }
}

#[tokio::test]
async fn an_address_that_was_damaged_says_so() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for query in [
        "action=key.melt",
        "after=-210000000000000%3A00000000-0000-7000-8000-000000000000",
        "after=1",
        "after=1%3A1",
        "who=a&who=b",
        "from=%ff",
    ] {
        for path in [LOG, CSV, JSON_LINES] {
            assert_eq!(
                browser.get(&format!("{path}?{query}")).await.status,
                400,
                "{path} {query}"
            );
        }
    }
}

#[tokio::test]
async fn thousands_of_events_come_in_pages_and_whole_in_exports() {
    const EVENTS: usize = 2_345;
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    for _ in 0..EVENTS {
        let subject = Subject::Project(installation.builder.ids.next());
        record(
            installation,
            &ada,
            as_owner(&ada),
            Action::CreateProject,
            subject,
            None,
        )
        .await;
    }
    let browser = running.signed_in("ada").await;
    let mut seen = Vec::new();
    let mut next = Some(format!("{LOG}?action=project.create"));
    let mut pages = 0;
    while let Some(address) = next.take() {
        let page = browser.get(&address).await;
        pages += 1;
        assert!(page.body.matches("<tr role=\"row\">").count() <= 51, "{address}");
        let ids = page.body.split("what=project%3A").skip(1);
        seen.extend(ids.filter_map(|rest| rest.get(..36)).map(str::to_owned));
        assert_eq!(page.shows(">Newest<"), pages > 1);
        next = page
            .body
            .split_once("\" rel=\"next\"")
            .and_then(|(before, _)| before.rsplit_once("href=\""))
            .map(|(_, address)| address.replace("&#38;", "&"));
    }
    assert_eq!((seen.len(), pages), (EVENTS, 47));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), EVENTS, "each once");
    let csv = browser.get(&format!("{CSV}?action=project.create")).await;
    assert_eq!(csv.body.matches("\r\n").count(), EVENTS + 1);
    let lines = browser.get(&format!("{JSON_LINES}?action=project.create")).await;
    assert_eq!(lines.body.lines().count(), EVENTS);
    for id in &seen {
        assert!(csv.shows(id) && lines.shows(id), "{id}");
    }
}

#[tokio::test]
async fn exports_are_files_that_spreadsheets_and_programs_read() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation
        .issue(&ada.as_holder(), "=HYPERLINK(\"http://evil\"),x")
        .await
        .key
        .id;
    let arabic = installation.issue(&ada.as_holder(), "نظام القياس").await.key.id;
    let event = record(
        installation,
        &ada,
        Actor::ApiKey(arabic),
        Action::RevokeApiKey,
        Subject::ApiKey(key),
        Some(Subject::Membership(ada.membership.id)),
    )
    .await;
    let browser = running.signed_in("ada").await;
    let csv = browser.get(&format!("{CSV}?action=api_key.revoke")).await;
    assert_eq!(
        csv.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    assert_eq!(
        csv.header("content-disposition"),
        "attachment; filename=\"acme-audit-log.csv\""
    );
    assert_eq!(csv.header("cache-control"), "no-store");
    let (id, member) = (event.id, ada.membership.id);
    let expected = format!(
        "{id},2026-01-01T00:00:00.000Z,api_key,{arabic},نظام القياس,api_key.revoke,api_key,{key},\
         \"'=HYPERLINK(\"\"http://evil\"\"),x\",membership,{member},ada,success,203.0.113.9,request-17"
    );
    assert_eq!(csv.body.split("\r\n").nth(1), Some(&*expected));
    let lines = browser.get(&format!("{JSON_LINES}?action=api_key.revoke")).await;
    assert_eq!(lines.header("content-type"), "application/jsonl; charset=utf-8");
    assert_eq!(
        lines.header("content-disposition"),
        "attachment; filename=\"acme-audit-log.jsonl\""
    );
    let expected = format!(
        "{{\"id\":\"{id}\",\"at\":\"2026-01-01T00:00:00.000Z\",\
         \"actor\":{{\"kind\":\"api_key\",\"id\":\"{arabic}\",\"name\":\"نظام القياس\"}},\"action\":\"api_key.revoke\",\
         \"subject\":{{\"kind\":\"api_key\",\"id\":\"{key}\",\"name\":\"=HYPERLINK(\\\"http://evil\\\"),x\"}},\
         \"object\":{{\"kind\":\"membership\",\"id\":\"{member}\",\"name\":\"ada\"}},\"outcome\":\"success\",\
         \"sourceAddress\":\"203.0.113.9\",\"requestId\":\"request-17\"}}\n"
    );
    assert_eq!(lines.body, expected);
}

#[tokio::test]
async fn an_empty_export_is_a_file_all_the_same() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let csv = browser.get(CSV).await;
    assert!(csv.body.starts_with("id,at,actor_kind,") && csv.body.matches("\r\n").count() == 1);
    let lines = browser.get(JSON_LINES).await;
    assert_eq!((lines.status, lines.body.as_str()), (200, ""));
    assert!(browser.get(LOG).await.shows("Nothing has happened yet"));
}

#[tokio::test]
async fn an_export_breaks_off_when_its_owner_is_removed_and_the_log_says_so() {
    let (log, _guard) = Log::start();
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    for _ in 0..20_000 {
        let subject = Subject::Project(installation.builder.ids.next());
        record(
            installation,
            &ada,
            as_owner(&ada),
            Action::CreateProject,
            subject,
            None,
        )
        .await;
    }
    let browser = running.signed_in("ada").await;
    let request = browser.request(reqwest::Method::GET, JSON_LINES);
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let request_id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert!(response.chunk().await.unwrap().is_some());
    let now = installation.builder.clock.now();
    installation.store.end_membership(ada.membership.id, now);
    let end = loop {
        match response.chunk().await {
            Ok(Some(_)) => {}
            end => break end,
        }
    };
    assert!(end.is_err(), "the file is not taken for a whole one");
    let line = log.line_with("an export of the audit log was ended");
    for part in [" WARN ", "organization=acme", "no owner any more", &request_id] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!log.text().contains("ERROR"), "{}", log.text());
}

#[tokio::test]
async fn nothing_secret_is_in_the_log() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let issued = installation.issue(&ada.as_holder(), "Deploy").await;
    let browser = running.signed_in("ada").await;
    for path in [LOG, CSV, JSON_LINES] {
        let answer = browser.get(path).await;
        assert!(answer.tokens().is_empty(), "{path}");
        let cookie = browser.cookie().unwrap();
        let (_, secret) = cookie.split_once('=').unwrap();
        assert!(
            !answer.shows(issued.token.expose()) && !answer.shows(secret),
            "{path}"
        );
    }
}

#[tokio::test]
async fn script_in_names_stays_text() {
    let script = "<script>alert(1)</script>\"'&";
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), script).await.key.id;
    let mut user = installation.builder.user("grace");
    user.display_name = DisplayName::parse(script).unwrap();
    let membership = installation
        .builder
        .membership(&ada.organization, &user, Role::Member);
    let hash = keyward_domain::sign_in::password::PasswordHash::from_phc_string("none".to_owned());
    installation.store.put_user(user.clone(), hash);
    installation.store.put_membership(membership.clone());
    let (actor, subject) = (Actor::User(user.id), Subject::Membership(membership.id));
    record(
        installation,
        &ada,
        actor,
        Action::AddProjectMember,
        subject,
        Some(Subject::ApiKey(key)),
    )
    .await;
    let browser = running.signed_in("ada").await;
    let chosen = form(&[
        ("who", &format!("user:{}", user.id)),
        ("what", &format!("api_key:{key}")),
    ]);
    for path in [LOG.to_owned(), format!("{LOG}?{chosen}")] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200);
        assert!(
            page.shows("&#60;script&#62;") && !page.shows("<script>alert"),
            "{path}"
        );
    }
}
