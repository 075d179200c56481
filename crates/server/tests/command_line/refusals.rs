//! Options, variables and passwords that are refused before any database is asked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::keyward::{Answer, Keyward};
use crate::needing_a_database::UNREACHABLE;

#[test]
fn empty_variable_counts_as_unset() {
    let answer = Keyward::new(&["serve", "--listen=127.0.0.1:0"])
        .variable("KEYWARD_PUBLIC_URL", "")
        .variable("KEYWARD_KEY_LIMIT", "")
        .variable("KEYWARD_TRUSTED_PROXY", "")
        .variable("KEYWARD_LOG", "")
        .database("")
        .variable("KEYWARD_DATA_DIR", "/dev/null")
        .run();
    assert!(
        answer.refusal().ends_with("/dev/null is not a directory"),
        "{answer:?}"
    );
}

fn bootstrap(password: impl Into<Vec<u8>>) -> Answer {
    let arguments = [
        "admin",
        "bootstrap",
        "--organization=Acme",
        "--username=ada",
        "--password-stdin",
    ];
    Keyward::new(&arguments)
        .database(UNREACHABLE)
        .input(password)
        .run()
}

#[test]
fn weak_password_is_refused_and_not_shown() {
    for (password, sentence) in [
        (
            "fourteen chars",
            "the password must be at least 15 characters long".to_owned(),
        ),
        (
            &"long ".repeat(100),
            "the password must be at most 256 characters long".to_owned(),
        ),
        (
            "adaadaadaadaadaada",
            concat!(
                "the password is too easy to guess, being made from common passwords, names, repetitions or ",
                "neighbouring keys: choose several unrelated words instead"
            )
            .to_owned(),
        ),
        (
            "\u{feff}quiet otters read maps",
            concat!(
                "the password must not contain control characters or begin with a byte-order mark: these ",
                "cannot be typed when signing in"
            )
            .to_owned(),
        ),
        ("", "standard input is empty: pipe one line into it".to_owned()),
    ] {
        let answer = bootstrap(password);
        assert_eq!(answer.refusal(), sentence);
        assert!(password.is_empty() || !answer.errors.contains(password));
    }
}

#[test]
fn contradictory_limits_are_rejected() {
    let answer = Keyward::new(&["serve", "--listen=127.0.0.1:0", "--max-connections=0"])
        .database(UNREACHABLE)
        .run();
    assert_eq!(
        answer.refusal_of_options(),
        "invalid --max-connections: a server needs connections: allow at least one"
    );
}

#[test]
fn invalid_option_value_is_a_usage_error() {
    for (variable, value) in [
        ("KEYWARD_LISTEN", "8080"),
        ("KEYWARD_METRICS_LISTEN", "9464"),
        ("KEYWARD_KEY_LIMIT", "0"),
        ("KEYWARD_CHANGE_RATE", "0"),
        ("KEYWARD_CHANGE_RATE", "6001"),
        ("KEYWARD_CHANGE_BURST", "0"),
        ("KEYWARD_CHANGE_BURST", "100001"),
        ("KEYWARD_TRUSTED_PROXY", "10.1.0.0/8"),
        ("KEYWARD_LOG_FORMAT", "xml"),
        ("KEYWARD_LOG", "keyward=loud"),
        ("KEYWARD_DRAIN_TIMEOUT", "soon"),
        ("KEYWARD_DATABASE_POOL_SIZE", "0"),
    ] {
        let answer = Keyward::new(&["serve"]).variable(variable, value).run();
        assert_eq!(answer.code, Some(2), "{variable}: {answer:?}");
        assert!(answer.errors.contains("invalid value"), "{variable}: {answer:?}");
        assert!(answer.errors.contains(variable), "{variable}: {answer:?}");
    }
}

#[test]
fn refusal_of_a_flag_does_not_name_its_variable() {
    let answer = Keyward::new(&["serve", "--key-limit=0"])
        .variable("KEYWARD_KEY_LIMIT", "5")
        .run();
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(!answer.errors.contains("KEYWARD_KEY_LIMIT"), "{answer:?}");
}

#[test]
fn variable_that_is_not_text_is_named() {
    let value = OsStr::from_bytes(b"\xff");
    for (command, variable, what_to_do) in [
        (
            &["serve"][..],
            "KEYWARD_KEY_LIMIT",
            "give it a value as for --key-limit <NUMBER>, or unset it",
        ),
        (
            &["serve"],
            "KEYWARD_TRUSTED_PROXY",
            "give it a value as for --trusted-proxy <NETWORK>, or unset it",
        ),
        (
            &["admin", "setup-link"],
            "KEYWARD_PUBLIC_URL",
            "give it a value as for --public-url <URL>, or unset it",
        ),
        (
            &["migrate"],
            "KEYWARD_LOG",
            "give it a value as for --log-level <FILTER>, or unset it",
        ),
        (
            &["migrate"],
            "KEYWARD_DATABASE_URL",
            "percent-encode non-ASCII characters in the URL",
        ),
    ] {
        let answer = Keyward::new(command)
            .variable("KEYWARD_DATA_DIR", "/dev/null")
            .variable(variable, value)
            .run();
        let refusal = format!("{variable} is not valid UTF-8: {what_to_do}");
        assert_eq!(answer.refusal_of_options(), refusal);
    }
}

#[test]
fn password_has_exactly_one_source() {
    for arguments in [
        &["admin", "reset-password", "--username=ada"][..],
        &[
            "admin",
            "reset-password",
            "--username=ada",
            "--password-stdin",
            "--generate-password",
        ],
    ] {
        let answer = Keyward::new(arguments).database(UNREACHABLE).run();
        assert_eq!(answer.code, Some(2), "{answer:?}");
    }
}

#[test]
fn misspelled_variable_is_warned_of() {
    let answer = Keyward::new(&["migrate"])
        .variable("KEYWARD_DATABSE_URL", UNREACHABLE)
        .variable("KEYWARD_DATA_DIR", "/dev/null")
        .run();
    assert!(answer.refusal().ends_with("/dev/null is not a directory"));
    let warning = answer.errors.lines().next().unwrap();
    assert!(warning.contains("\"level\":\"WARN\""), "{warning}");
    assert!(warning.contains("KEYWARD_DATABSE_URL"), "{warning}");
    assert!(!warning.contains("s3cret"), "{warning}");
}
