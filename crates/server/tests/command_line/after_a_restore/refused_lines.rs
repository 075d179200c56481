//! Input that is no audit log.

use super::lost::Lost;
use super::{repeat, status};
use crate::place::Place;

#[test]
fn line_that_is_no_event_is_named_before_any_change() {
    let lost = Lost::set_up(Place::file("refused-lines"));
    let server = lost.place.serve(&[]);
    let own = "/api/v1/user/api-keys/current";
    let key = server.ask("GET", own, &[&lost.kept], "").json()["id"].clone();
    let line = format!(
        r#"{{"id":{key},"at":"2026-01-31T12:00:00Z","actor":{{"kind":"anonymous"}},"action":"api_key.revoke","subject":{{"kind":"api_key","id":{key}}},"outcome":"success"}}"#
    );
    let cut_off = &line[..line.len() - 1];
    // Members of a newer version are ignored.
    let padded = format!(r#"{{"x":"{}","#, "x".repeat(65_536));
    for (log, number, reason) in [
        (
            format!("{line}\n{line}\n{cut_off}"),
            3,
            format!("EOF while parsing an object at column {}", cut_off.len()),
        ),
        (
            format!("{line}\n\n"),
            2,
            "EOF while parsing a value at column 0".to_owned(),
        ),
        (
            line.replace("api_key.revoke", r"revoke\u001b[2J"),
            1,
            r#"invalid action "revoke\u{1b}[2J""#.to_owned(),
        ),
        (
            format!("{line}\n{}\n", line.replacen('{', &padded, 1)),
            2,
            "longer than 65536 bytes".to_owned(),
        ),
    ] {
        let answer = repeat(&lost.place, &log);
        assert_eq!(
            answer.refusal(),
            format!(
                "line {number} of standard input is no event of the audit log, so nothing was changed: {reason}; remove it \
                 if it is the last line and was cut off, otherwise redirect a file from `keyward admin audit-log --after \
                 start --all` to it"
            )
        );
    }
    let export = repeat(&lost.place, &lost.place.export());
    let reason = "line 1 of standard input is no event of the audit log, so nothing was changed: missing field `id` at";
    assert!(export.refusal().starts_with(reason), "{export:?}");
    assert_eq!(
        repeat(&lost.place, "").refusal(),
        "standard input is empty: redirect a file from `keyward admin audit-log --after start --all` to it"
    );
    assert_eq!(status(&server, &lost.kept), 200);

    let since = |time| {
        let arguments = ["admin", "repeat-revocations", "--since", time];
        lost.place.keyward(&arguments).input(line.clone()).run()
    };
    assert_eq!(
        since("2026-01-31T13:00:01Z").refusal(),
        "standard input has no event since 2026-01-31T12:00:01Z, an hour before --since, so nothing was changed: \
         check --since"
    );
    assert_eq!(status(&server, &lost.kept), 200);
    let after = since("2026-01-31T13:00:00Z");
    assert_eq!(
        after.errors,
        "Events considered: 1 of 1 since 2026-01-31T12:00:00Z, an hour before --since\n\
         API keys revoked: 1 repeated, 0 already so, 0 not in this database, 0 left\n"
    );
    assert_eq!(after.success(), "");
    assert_eq!(status(&server, &lost.kept), 401);
}
