//! The log as files, whole and page by page.

use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::testing::TestInstallation;
use reqwest::Method;
use serde_json::Value;

use super::{CSV, JSON_LINES, LOG, as_owner, called, events, record};
use crate::log::Log;
use crate::running::Running;

#[tokio::test]
async fn thousands_of_events_paginate_and_export_completely() {
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
async fn exports_are_files_for_spreadsheets_and_programs() {
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
        "{id},2026-01-01T00:00:00.000Z,api_key,{arabic},نظام القياس,,api_key.revoke,api_key,{key},\
         \"'=HYPERLINK(\"\"http://evil\"\"),x\",,membership,{member},ada,ada,success,203.0.113.9,request-17,,"
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
         \"object\":{{\"kind\":\"membership\",\"id\":\"{member}\",\"name\":\"ada\",\"username\":\"ada\"}},\"outcome\":\"success\",\
         \"sourceAddress\":\"203.0.113.9\",\"requestId\":\"request-17\"}}\n"
    );
    assert_eq!(lines.body, expected);
}

#[tokio::test]
async fn people_with_the_same_name_are_distinguished_by_username() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = called(installation, &ada, "grace", "=Same");
    let hopper = called(installation, &ada, "hopper", "=Same");
    record(
        installation,
        &ada,
        as_owner(&grace),
        Action::RemoveMember,
        Subject::Membership(hopper.membership.id),
        Some(Subject::User(grace.user.id)),
    )
    .await;
    let browser = running.signed_in("ada").await;
    let csv = browser.get(&format!("{CSV}?action=membership.remove")).await;
    let (header, record) = csv.body.split_once("\r\n").unwrap();
    let fields: Vec<_> = header
        .split(',')
        .zip(record.trim_end().split(','))
        .filter(|(column, _)| column.ends_with("_name") || column.ends_with("_username"))
        .collect();
    assert_eq!(
        fields,
        [
            ("actor_name", "'=Same"),
            ("actor_username", "grace"),
            ("subject_name", "'=Same"),
            ("subject_username", "hopper"),
            ("object_name", "'=Same"),
            ("object_username", "grace"),
        ]
    );
    let lines = browser
        .get(&format!("{JSON_LINES}?action=membership.remove"))
        .await;
    let line: Value = serde_json::from_str(&lines.body).unwrap();
    for (party, username) in [("actor", "grace"), ("subject", "hopper"), ("object", "grace")] {
        assert_eq!(line[party]["name"], "=Same");
        assert_eq!(line[party]["username"], username);
    }
}

#[tokio::test]
async fn empty_export_is_a_valid_file() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let csv = browser.get(&format!("{CSV}?action=project.create")).await;
    assert!(csv.body.starts_with("id,at,actor_kind,") && csv.body.matches("\r\n").count() == 1);
    let lines = browser.get(&format!("{JSON_LINES}?action=project.create")).await;
    assert_eq!((lines.status, lines.body.as_str()), (200, ""));
    let page = browser.get(&format!("{LOG}?action=project.create")).await;
    assert!(page.shows("No events match"));
}

#[tokio::test]
async fn export_aborts_and_is_logged_when_its_owner_is_removed() {
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
    let request = browser.request(Method::GET, JSON_LINES);
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
    let line = log.line_with("audit log export stopped");
    for part in [" WARN ", "organization=acme", "no longer an owner", &request_id] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!log.text().contains("ERROR"), "{}", log.text());
}

#[tokio::test]
async fn exports_are_logged_but_page_views_are_not() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    assert_eq!(browser.get(LOG).await.status, 200);
    let told = || {
        let events = running.installation.store.events();
        let exports = events
            .into_iter()
            .filter(|event| event.action == Action::ExportAuditLog);
        exports.collect::<Vec<_>>()
    };
    assert!(told().is_empty());
    for (path, exports) in [(CSV, 1), (JSON_LINES, 2)] {
        let file = browser.get(path).await;
        assert_eq!(file.status, 200);
        let told = told();
        assert_eq!(told.len(), exports);
        let latest = &told[exports - 1];
        assert_eq!(latest.actor, as_owner(&ada));
        assert_eq!(latest.organization_id, Some(ada.organization.id));
        assert!(latest.source.address.is_some());
        assert_eq!(
            latest.source.request_id.as_deref(),
            Some(file.header("x-request-id"))
        );
        assert!(!file.shows(&latest.id.to_string()), "not in itself");
    }
    let text = events(&browser.get(&format!("{LOG}?action=audit_log.export")).await);
    assert_eq!(text.matches("ada exported the audit log").count(), 2, "{text}");
}

#[tokio::test]
async fn search_without_match_is_neither_exported_nor_logged() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    assert_ne!(browser.get(&format!("{CSV}?who=nobody")).await.status, 200);
    let events = running.installation.store.events();
    assert!(events.iter().all(|event| event.action != Action::ExportAuditLog));
}

#[tokio::test]
async fn link_on_another_site_exports_nothing() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let exports = || {
        let events = running.installation.store.events().into_iter();
        events
            .filter(|event| event.action == Action::ExportAuditLog)
            .count()
    };
    for (path, site, status) in [
        (CSV, "cross-site", 403),
        (JSON_LINES, "same-site", 403),
        (CSV, "same-origin", 200),
        (JSON_LINES, "none", 200),
    ] {
        let before = exports();
        let request = browser.request(Method::GET, path).header("sec-fetch-site", site);
        assert_eq!(browser.send(request).await.status, status, "{site}");
        assert_eq!(exports() - before, usize::from(status == 200), "{site}");
    }
}

#[tokio::test]
async fn signed_out_export_leads_to_its_page_and_exports_nothing() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    let page = owner.get(&format!("{LOG}?action=api_key.revoke")).await;
    for file in [CSV, JSON_LINES] {
        let link = format!("{file}?action=api_key.revoke");
        assert!(
            page.shows(&format!("<a href=\"{link}\">")),
            "the browser shows what is no file: {}",
            page.body
        );
        let visitor = running.visitor();
        let sign_in = visitor.follow(&visitor.get(&link).await).await;
        assert_eq!(sign_in.field("next"), format!("{LOG}?action=api_key.revoke"));
        let fields = [
            ("next", link.as_str()),
            ("username", "ada"),
            ("password", TestInstallation::PASSWORD),
        ];
        let signed_in = visitor.post("/sign-in", &fields).await;
        assert_eq!(signed_in.location(), format!("{LOG}?action=api_key.revoke"));
    }
}
