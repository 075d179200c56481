use std::collections::HashMap;

use keyward_domain::administration::ports::Named;
use keyward_domain::administration::{AuditPage, FollowedEvents};
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::page::Page;
use keyward_domain::user::Username;

use super::{MAX_LINE_BYTES, NotAnEvent, read_event};
use crate::json_lines::{of_followed, of_page};

const ID: &str = "0198c0de-0000-7000-8000-00000000abcd";
const LINE: &str = r#"{"id":"0198c0de-0000-7000-8000-00000000abcd","at":"2026-01-31T12:00:00.123Z","actor":{"kind":"anonymous"},"action":"api_key.revoke","subject":{"kind":"api_key","id":"0198c0de-0000-7000-8000-00000000abcd"},"outcome":"success"}"#;

/// An event in which everything is present.
fn event(action: Action, actor: Actor, subject: Subject) -> AuditEvent {
    AuditEvent {
        id: ID.parse().unwrap(),
        at: "2026-01-31T12:00:00.123Z".parse().unwrap(),
        organization_id: None,
        actor,
        action,
        subject,
        object: Some(subject),
        old_value: Some("P90D".to_owned()),
        new_value: Some("P30D".to_owned()),
        outcome: Outcome::Refused,
        source: RequestSource {
            address: Some("2001:db8::1".parse().unwrap()),
            request_id: Some("a request".to_owned()),
        },
    }
}

/// One event for each action, actor and subject.
fn events() -> Vec<AuditEvent> {
    let key: keyward_domain::id::ApiKeyId = ID.parse().unwrap();
    let newer = "key_set.rotate";
    let actions = Action::ALL.iter().copied().chain(Action::from_word(newer));
    let actors = [
        Actor::User(ID.parse().unwrap()),
        Actor::ApiKey(key),
        Actor::Administrator,
        Actor::System,
        Actor::Anonymous,
    ];
    let subjects = [
        Subject::Installation,
        Subject::Organization(ID.parse().unwrap()),
        Subject::User(ID.parse().unwrap()),
        Subject::Membership(ID.parse().unwrap()),
        Subject::Invitation(ID.parse().unwrap()),
        Subject::Project(ID.parse().unwrap()),
        Subject::ApiKey(key),
        Subject::Session(ID.parse().unwrap()),
        Subject::from_kind("key_set", Some(key.as_uuid())).unwrap(),
    ];
    let of_actions = actions.map(|action| event(action, actors[0], subjects[0]));
    let of_actors = actors.map(|actor| event(Action::RevokeApiKey, actor, subjects[0]));
    let of_subjects = subjects.map(|subject| event(Action::RevokeApiKey, actors[0], subject));
    of_actions.chain(of_actors).chain(of_subjects).collect()
}

#[test]
fn every_exported_event_reads_back_equal() {
    let bare = AuditEvent {
        object: None,
        old_value: None,
        new_value: None,
        outcome: Outcome::Success,
        source: RequestSource::default(),
        ..event(Action::SignIn, Actor::Anonymous, Subject::Installation)
    };
    let mut events = events();
    events.push(bare);
    let page = AuditPage {
        events: Page {
            items: events.clone(),
            next: None,
        },
        names: HashMap::from([(
            events[0].subject,
            Named {
                name: "a name".to_owned(),
                username: None,
                hint: None,
            },
        )]),
    };
    let lines = of_page(&page).unwrap();
    let read: Vec<AuditEvent> = lines
        .lines()
        .map(|line| read_event(line.as_bytes()).unwrap())
        .collect();
    assert_eq!(read, events);
}

#[test]
fn longest_line_is_far_below_the_limit() {
    let subject = Subject::Membership(ID.parse().unwrap());
    let text = "\u{1f980}".repeat(100);
    let longest = AuditEvent {
        organization_id: Some(ID.parse().unwrap()),
        old_value: Some(text.clone()),
        new_value: Some(text.clone()),
        source: RequestSource {
            address: Some("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap()),
            request_id: Some("x".repeat(64)),
        },
        ..event(
            Action::from_word(&format!("{0}.{0}", "x".repeat(31))).unwrap(),
            Actor::User(ID.parse().unwrap()),
            subject,
        )
    };
    let named = [
        Subject::Organization(ID.parse().unwrap()),
        Subject::User(ID.parse().unwrap()),
        subject,
    ];
    let longest_names = Named {
        name: text,
        username: Some(Username::parse(&"x".repeat(39)).unwrap()),
        hint: None,
    };
    let position = format!("{}-0a1b2c3d-0198c0de00007000800000000000abcd", u64::MAX);
    let followed = FollowedEvents {
        events: vec![(position.parse().unwrap(), longest)],
        names: named.map(|subject| (subject, longest_names.clone())).into(),
        has_more: false,
        were_some_removed: false,
    };
    let line = of_followed(&followed).unwrap();
    assert!(line.len() < MAX_LINE_BYTES / 10, "{}", line.len());
}

#[test]
fn longer_line_is_refused() {
    let padded = |length| format!("{LINE}{}", " ".repeat(length - LINE.len()));
    read_event(padded(MAX_LINE_BYTES).as_bytes()).unwrap();
    let refused = read_event(padded(MAX_LINE_BYTES + 1).as_bytes());
    assert!(matches!(refused, Err(NotAnEvent::TooLong)));
}

#[test]
fn followed_event_reads_back_with_its_organization() {
    let event = AuditEvent {
        organization_id: Some(ID.parse().unwrap()),
        ..event(Action::SignIn, Actor::Anonymous, Subject::Installation)
    };
    let position = "1-0a1b2c3d-0198c0de00007000800000000000abcd".parse().unwrap();
    let followed = FollowedEvents {
        events: vec![(position, event.clone())],
        names: HashMap::new(),
        has_more: false,
        were_some_removed: false,
    };
    let lines = of_followed(&followed).unwrap();
    assert_eq!(read_event(lines.trim_end().as_bytes()).unwrap(), event);
}

#[test]
fn members_of_a_newer_version_are_ignored() {
    let newer = LINE.replacen('{', r#"{"severity":5,"#, 1);
    assert_eq!(
        read_event(newer.as_bytes()).unwrap(),
        read_event(LINE.as_bytes()).unwrap()
    );
}

#[test]
fn line_that_is_no_event_is_refused_with_reason() {
    for (text, by, reason) in [
        (LINE, "", "EOF while parsing a value at column 0"),
        (
            r#","outcome":"success"}"#,
            "}",
            "missing field `outcome` at column ",
        ),
        (
            r#""id":""#,
            r#""id":5,"x":""#,
            "invalid type: integer `5`, expected a string at column 7",
        ),
        (
            r#""id":""#,
            r#""id":"\u001b"#,
            r#"invalid id "\u{1b}0198c0de-0000-7000-8000-00000000abcd""#,
        ),
        (
            "2026-01-31T",
            "31.1.2026 ",
            r#"invalid at "31.1.2026 12:00:00.123Z""#,
        ),
        ("anonymous", "nobody", r#"invalid actor.kind "nobody""#),
        (
            r#"{"kind":"anonymous"}"#,
            r#"{"kind":"user"}"#,
            r#"invalid actor.id """#,
        ),
        (
            "api_key.revoke",
            "revoke\\u001b[2J",
            r#"invalid action "revoke\u{1b}[2J""#,
        ),
        (
            r#"{"kind":"api_key""#,
            r#"{"kind":"Key""#,
            r#"invalid subject.kind "Key""#,
        ),
        (
            r#""api_key","id""#,
            r#""api_key","x""#,
            r#"invalid subject.id """#,
        ),
        (
            r#","outcome""#,
            r#","object":{"kind":"\n","id":"0198c0de-0000-7000-8000-00000000abcd"},"outcome""#,
            r#"invalid object.kind "\n""#,
        ),
        (
            r#","outcome""#,
            r#","organization":{"kind":"organization","id":"1"},"outcome""#,
            r#"invalid organization.id "1""#,
        ),
        ("success", "failure", r#"invalid outcome "failure""#),
    ] {
        let line = LINE.replacen(text, by, 1);
        let refused = read_event(line.as_bytes()).unwrap_err().to_string();
        assert!(refused.starts_with(reason), "{line}: {refused}");
        assert!(!refused.contains("line 1"), "{refused}");
    }
    assert!(read_event(b"[]").is_err());
    assert!(read_event(&LINE.as_bytes()[..LINE.len() - 1]).is_err(), "cut off");
}
