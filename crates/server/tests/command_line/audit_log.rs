//! `keyward admin audit-log` prints events for programs.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::browser::{cookie, create_key, send, sign_in};
use crate::keyward::Answer;
use crate::place::{Place, pipe};
use crate::retention::sql;
use crate::setup::PASSWORD;

/// The printed events without those of exports.
fn printed(place: &Place, options: &[&str]) -> Vec<Value> {
    let mut events = printed_with_exports(place, options);
    events.retain(|event| event["action"] != "audit_log.export");
    events
}

fn printed_with_exports(place: &Place, options: &[&str]) -> Vec<Value> {
    let answer = print(place, options);
    assert_eq!(answer.errors, "");
    let lines = answer.success();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn print(place: &Place, options: &[&str]) -> Answer {
    place.keyward(&[&["admin", "audit-log"], options].concat()).run()
}

fn actions(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["action"].as_str().unwrap())
        .collect()
}

async fn places(test: &str) -> [Place; 2] {
    let places = [Place::file(test), Place::server().await];
    for place in &places {
        place.bootstrap();
    }
    places
}

#[tokio::test]
async fn installation_events_are_printed_newest_first() {
    for place in places("audit-log").await {
        let mut server = place.serve(&[]);
        let signed_in = sign_in(&server, "ada", PASSWORD);
        sign_in(&server, "ada", "a wrong password");
        send(&server, "/sign-out", cookie(&signed_in), "");
        // Refusals are recorded after the answer, and at the latest when the server ends.
        server.signal(Signal::TERM);
        server.ended();
        let reset = ["admin", "reset-password", "--username=ada", "--generate-password"];
        place.keyward(&reset).run().success();

        let events = printed(&place, &[]);
        assert_eq!(
            actions(&events),
            [
                "user.reset_password",
                "session.sign_out",
                "session.sign_in",
                "session.sign_in"
            ]
        );
        let [reset, sign_out, refused, sign_in] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(reset["actor"], serde_json::json!({ "kind": "administrator" }));
        assert_eq!(reset.get("sourceAddress"), None);
        assert_eq!(sign_out["subject"], sign_in["subject"]);
        assert_eq!(sign_in["subject"]["kind"], "session");
        assert_eq!(sign_in["outcome"], "success");
        assert_eq!(sign_in["sourceAddress"], "127.0.0.1");
        assert_eq!(refused["outcome"], "refused");
        assert_eq!(refused["actor"]["kind"], "anonymous");
        for user in [&sign_in["actor"], &refused["subject"], &reset["subject"]] {
            assert_eq!(user["kind"], "user");
            assert_eq!((&user["name"], &user["username"]), (&"ada".into(), &"ada".into()));
        }
    }
}

#[tokio::test]
async fn printed_organization_events_equal_the_owners_export() {
    for place in places("audit-log-of-one").await {
        let server = place.serve(&[]);
        let signed_in = sign_in(&server, "ada", PASSWORD);
        create_key(&server, cookie(&signed_in), "laptop");
        let other = ["admin", "create-organization", "--name=Other", "--owner=ada"];
        place.keyward(&other).run().success();

        let events = print(&place, &["--organization=acme-sons"]).success();
        let exported = server.ask(
            "GET",
            "/organizations/acme-sons/settings/audit-log/export.jsonl",
            &[&format!("Cookie: {}", cookie(&signed_in))],
            "",
        );
        let (latest, as_printed) = exported.body.split_once('\n').unwrap();
        assert_eq!(events, as_printed);
        assert!(
            latest.contains("\"actor\":{\"kind\":\"administrator\"},\"action\":\"audit_log.export\""),
            "{latest}"
        );
        // Three of the setup, the sign-in and the key.
        assert_eq!(events.lines().count(), 5, "{events}");
        assert_eq!(
            actions(&printed(&place, &["--organization=other"])),
            ["membership.create", "organization.create"]
        );
        assert_eq!(
            print(&place, &["--organization=nowhere"]).refusal(),
            "there is no organization nowhere: set --organization to one of acme-sons, other"
        );
    }
}

#[tokio::test]
async fn printed_events_are_limited_by_days_and_times() {
    for place in places("audit-log-bounds").await {
        let of_acme = |bounds: &[&str]| {
            let options = [&["--organization=acme-sons"], bounds].concat();
            printed(&place, &options)
        };
        let all = of_acme(&[]);
        let (latest, day) = (
            all[0]["at"].as_str().unwrap(),
            &all[0]["at"].as_str().unwrap()[..10],
        );
        assert_eq!(of_acme(&["--since", day]), all);
        assert_eq!(of_acme(&["--since=2020-01-01", "--until=2999-12-31"]), all);
        assert_eq!(of_acme(&["--until=2020-12-31"]), [] as [Value; 0]);
        assert_eq!(of_acme(&["--since=2999-01-01T00:00:00Z"]), [] as [Value; 0]);
        // An organization, its owner and the membership began at one moment.
        assert_eq!(of_acme(&["--since", latest]), all);
        assert_eq!(of_acme(&["--until", latest]), [] as [Value; 0]);
    }
}

#[test]
fn contradictory_time_limits_are_rejected_before_opening_storage() {
    let place = Place::file("audit-log-nonsense");
    for (bounds, code, complaint) in [
        (
            &["--since=yesterday"][..],
            2,
            "expected a day such as 2026-01-31, or a moment such as 2026-01-31T12:00:00Z",
        ),
        (&["--until=2026-02-30"], 2, "expected a day such as 2026-01-31"),
        (
            &["--since=2026-01-31", "--until=2026-01-30"],
            2,
            "error: --until must be after --since",
        ),
    ] {
        let answer = print(&place, bounds);
        assert_eq!(answer.code, Some(code), "{answer:?}");
        assert!(answer.errors.contains(complaint), "{answer:?}");
    }
}

#[tokio::test]
async fn audit_log_page_shows_the_servers_retention() {
    let place = Place::file("audit-log-kept");
    place.bootstrap();
    let server = place.serve(&["--keep-audit-events=45"]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = server.ask(
        "GET",
        "/organizations/acme-sons/settings/audit-log",
        &[&format!("Cookie: {}", cookie(&signed_in))],
        "",
    );
    assert!(page.body.contains("Events are kept for 45 days."), "{page:?}");
}

#[tokio::test]
async fn reader_closing_the_pipe_early_is_no_failure() {
    for place in places("audit-log-head").await {
        let mut printing = place
            .keyward(&["admin", "audit-log", "--organization=acme-sons"])
            .into_command()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(printing.stdout.take());
        let ended = printing.wait_with_output().unwrap();
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), errors.as_str()), (Some(0), ""));
    }
}

#[tokio::test]
async fn each_printing_is_recorded_in_the_printed_log() {
    for place in places("audit-log-told").await {
        for (options, subject) in [
            (&[][..], "installation"),
            (&["--organization=acme-sons"], "organization"),
        ] {
            let before = printed_with_exports(&place, options);
            let after = printed_with_exports(&place, options);
            let [recorded, rest @ ..] = &after[..] else {
                panic!("nothing was told")
            };
            assert_eq!(rest, before, "no printing is in itself");
            assert_eq!(recorded["action"], "audit_log.export");
            assert_eq!(recorded["actor"], serde_json::json!({ "kind": "administrator" }));
            assert_eq!(recorded["subject"]["kind"], subject);
        }
    }
}

#[tokio::test]
async fn event_of_a_newer_version_is_printed_and_exported() {
    const NEWER: &str = "
        INSERT INTO audit_events (id, occurred_at, organization_id, actor_kind, action, subject_kind, subject_id, outcome)
        SELECT '00000000-0000-7000-8000-00000000beef', current_timestamp(3), id, 'administrator', 'key_set.rotate', 'key_set',
            '00000000-0000-7000-8000-00000000beef', 'success'
        FROM organizations";
    let server = Place::server().await;
    server.bootstrap();
    let Place::Server(database) = &server else {
        panic!("not on a server");
    };
    sql(database, NEWER).await;
    let file = Place::file("audit-log-newer");
    pipe(&server, &file);
    for place in [file, server] {
        let is_newer = |event: &&Value| event["action"] == "key_set.rotate";
        let events = printed(&place, &["--organization=acme-sons"]);
        let event = events.iter().find(is_newer).expect("the event");
        assert_eq!(event["subject"]["kind"], "key_set");
        assert_eq!(event["subject"]["id"], "00000000-0000-7000-8000-00000000beef");

        let server = place.serve(&[]);
        let signed_in = sign_in(&server, "ada", PASSWORD);
        let cookie = format!("Cookie: {}", cookie(&signed_in));
        let list = "/organizations/acme-sons/settings/audit-log";
        let ask = |path: &str| {
            let answer = server.ask("GET", &format!("{list}{path}"), &[&cookie], "");
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            answer.body.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let shown = ask("");
        assert!(shown.contains("did <code>key_set.rotate</code> to"), "{shown}");
        assert!(
            shown.contains("?action=key_set.rotate\""),
            "a way to all of them: {shown}"
        );
        let only = ask("?action=key_set.rotate");
        assert!(
            only.contains("<option value=\"key_set.rotate\" selected>key_set.rotate</option>"),
            "{only}"
        );
        assert_eq!(only.matches("did <code>").count(), 1);
        assert_eq!(only.matches("role=\"rowheader\"").count(), 1);
        assert!(ask("?what=key_set:00000000-0000-7000-8000-00000000beef").contains("did <code>"));
        assert!(ask("/export.csv").contains(",key_set.rotate,key_set,"));
        assert!(
            ask("/export.jsonl").contains("\"action\":\"key_set.rotate\",\"subject\":{\"kind\":\"key_set\"")
        );
    }
}
