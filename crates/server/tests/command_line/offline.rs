//! Commands that need no database.

use std::process::Command;

use crate::keyward::Keyward;

#[test]
fn version_command_prints_the_version_and_the_commit() {
    let version = Keyward::new(&["--version"]).run().success();
    assert_eq!(version, format!("keyward {}\n", env!("VERSION_WITH_COMMIT")));
    assert!(version.starts_with(concat!("keyward ", env!("CARGO_PKG_VERSION"))));
    let mut git = Command::new("git");
    let head = git.args(["rev-parse", "HEAD"]).output();
    // Only a clone has a commit to name.
    if let Some(head) = head.ok().filter(|head| head.status.success()) {
        let head = String::from_utf8(head.stdout).unwrap();
        let named = version.split(['(', ')']).nth(1).unwrap();
        assert!(
            named.len() >= 12 && head.starts_with(named),
            "{version} in {head}"
        );
    }
}

#[test]
fn printed_openapi_document_equals_the_served_one() {
    let printed = Keyward::new(&["openapi"]).run().success();
    assert_eq!(printed, keyward_http_api::document());
}

#[test]
fn unknown_command_or_flag_is_a_usage_error() {
    for arguments in [
        &["frobnicate"][..],
        &["--frobnicate"],
        &["admin"],
        &["serve", "more"],
    ] {
        let answer = Keyward::new(arguments).run();
        assert_eq!(answer.code, Some(2), "{arguments:?}");
        assert_eq!(answer.output, "");
    }
}

#[test]
fn published_vectors_are_recognized_as_tokens() {
    for token in [
        "kwp_000000000000000000000000000000002wjyrI",
        "kwp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA3Ae0o2",
        "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL",
        "kwp_abcdefghijklmnopqrstuvwxyz0123451nc0VA",
        "kwp_9scbRYjvDIcALY0lSDlCE5THhyySDXuM00022i",
    ] {
        for input in [token.to_owned(), format!("{token}\n"), format!("{token}\r\n")] {
            let answer = Keyward::new(&["token", "check"]).input(input).run();
            assert_eq!(answer.code, Some(0), "{token}");
            assert!(answer.output.starts_with("shape and checksum hold"), "{answer:?}");
            assert!(!answer.output.contains(token), "the token is shown: {answer:?}");
        }
    }
}

#[test]
fn invalid_token_is_explained_by_reason_and_never_shown() {
    let shape = "not a Keyward token: expected `kwp_` followed by 38 letters and digits\n";
    let checksum = "the checksum does not match: the token was mistyped or cut off\n";
    for (input, reason) in [
        ("kwp_000000000000000000000000000000002wjyrJ", checksum),
        ("kwp_000000000000000000000000000000012wjyrI", checksum),
        ("kwp_00000000000000000000000000000002wjyrI", shape),
        ("KWP_000000000000000000000000000000002wjyrI", shape),
        (" kwp_000000000000000000000000000000002wjyrI", shape),
        ("kwp_00000000000000000000000000000000-wjyrI", shape),
        ("password1", shape),
    ] {
        let answer = Keyward::new(&["token", "check"]).input(input).run();
        assert_eq!(answer.code, Some(1), "{input}");
        assert_eq!(answer.output, reason, "{input}");
        assert_eq!(answer.errors, "", "{input}");
    }
}

#[test]
fn input_other_than_one_line_is_refused() {
    for (input, sentence) in [
        (&b""[..], "standard input is empty: pipe one line into it"),
        (b"one\ntwo\n", "standard input holds more than one line"),
        (b"\xff\xfe", "standard input is not valid UTF-8"),
        (&[b'a'; 5000], "standard input is longer than 4096 bytes"),
    ] {
        let answer = Keyward::new(&["token", "check"]).input(input).run();
        assert_eq!(answer.refusal(), sentence);
    }
}
