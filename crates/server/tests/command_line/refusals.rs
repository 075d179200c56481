//! What is refused with one sentence before any database is asked.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::keyward::{Answer, Keyward};

/// Nobody listens there: port 1 is reserved (tcpmux).
const NOBODY: &str = "postgres://keyward:s3cret@127.0.0.1:1/keyward";

const NEEDING_A_DATABASE: [&[&str]; 7] = [
    &[],
    &["serve"],
    &["migrate"],
    &["admin", "setup-link"],
    &[
        "admin",
        "bootstrap",
        "--organization=Acme",
        "--username=ada",
        "--generate-password",
    ],
    &["admin", "create-user", "--username=ada", "--generate-password"],
    &["admin", "reset-password", "--username=ada", "--generate-password"],
];

#[test]
fn a_data_directory_that_cannot_be_made_is_told_by_every_command() {
    for command in NEEDING_A_DATABASE {
        let answer = Keyward::new(command)
            .variable("KEYWARD_LISTEN", "127.0.0.1:0")
            .variable("KEYWARD_DATA_DIR", "/dev/null/keyward")
            .run();
        assert_eq!(
            answer.refusal(),
            "the data directory /dev/null/keyward cannot be created: Not a directory (os error 20)",
            "{command:?}"
        );
    }
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let answer = Keyward::new(&["serve", "--listen=127.0.0.1:0"])
        .variable("KEYWARD_PUBLIC_URL", "")
        .variable("KEYWARD_KEY_LIMIT", "")
        .variable("KEYWARD_TRUSTED_PROXY", "")
        .variable("KEYWARD_LOG", "")
        .database("")
        .variable("KEYWARD_DATA_DIR", "/dev/null")
        .run();
    assert!(
        answer
            .refusal()
            .starts_with("the data directory /dev/null cannot"),
        "{answer:?}"
    );
}

#[test]
fn a_password_in_a_flag_is_refused_and_not_shown() {
    let answer = Keyward::new(&["migrate", "--database-url", NOBODY]).run();
    assert_eq!(
        answer.refusal(),
        "--database-url holds a password, which every user of this machine can read: set KEYWARD_DATABASE_URL \
         instead, or name a file that holds the URL in KEYWARD_DATABASE_URL_FILE"
    );
}

#[test]
fn a_database_that_does_not_answer_is_given_up_after_a_few_seconds() {
    let begun = Instant::now();
    let answer = Keyward::new(&["migrate"]).database(NOBODY).run();
    let refusal = answer.refusal();
    assert!(
        refusal.starts_with("gave up after trying for 5 seconds: the database cannot be reached: "),
        "{refusal}"
    );
    assert!(refusal.contains("Connection refused"), "{refusal}");
    assert!(!answer.errors.contains("s3cret"), "{}", answer.errors);
    assert!(begun.elapsed() >= Duration::from_secs(5));
}

#[test]
fn a_url_that_names_no_postgresql_database_is_refused_without_showing_it() {
    for url in [
        "mysql://me:s3cret@host/db",
        "s3cret",
        "postgres://me:s3cret@host:port/db",
    ] {
        let answer = Keyward::new(&["migrate"]).database(url).run();
        assert!(
            answer.refusal().contains("postgres://user:password@host"),
            "{answer:?}"
        );
        assert!(!answer.errors.contains("s3cret"), "{}", answer.errors);
    }
}

#[test]
fn the_url_comes_from_one_place_only() {
    let answer = Keyward::new(&["migrate"])
        .database(NOBODY)
        .variable("KEYWARD_DATABASE_URL_FILE", "/nowhere")
        .run();
    assert_eq!(
        answer.refusal(),
        "KEYWARD_DATABASE_URL and KEYWARD_DATABASE_URL_FILE are both set: unset one of them"
    );
}

#[test]
fn a_missing_file_is_named() {
    let answer = Keyward::new(&["migrate"])
        .variable("KEYWARD_DATABASE_URL_FILE", "/nowhere/url")
        .run();
    assert_eq!(
        answer.refusal(),
        "the file /nowhere/url that KEYWARD_DATABASE_URL_FILE names cannot be read: No such file or directory (os \
         error 2)"
    );
}

#[test]
fn a_busy_port_is_named() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let answer = Keyward::new(&["serve", "--listen", &address])
        .database(NOBODY)
        .run();
    assert_eq!(
        answer.refusal(),
        format!(
            "cannot listen on {address} (--listen chooses another address): Address already in use (os error 98)"
        )
    );
}

#[test]
fn a_public_url_that_is_neither_https_nor_local_or_has_a_path_is_refused() {
    for (url, reason) in [
        ("http://keys.example.com", "must begin with https://"),
        (
            "https://keys.example.com/keyward",
            "must end after the host and port",
        ),
        ("keys.example.com", "not a URL"),
        (
            "https://me:s3cret@keys.example.com",
            "must not contain a user name or password",
        ),
    ] {
        for command in [
            &["serve", "--listen=127.0.0.1:0", "--public-url", url][..],
            &["admin", "setup-link", "--public-url", url],
        ] {
            let answer = Keyward::new(command).database(NOBODY).run();
            let refusal = answer.refusal();
            assert!(
                refusal.starts_with("the public URL (--public-url, KEYWARD_PUBLIC_URL) is refused: "),
                "{refusal}"
            );
            assert!(refusal.contains(reason), "{refusal}");
            assert!(!refusal.contains("s3cret"), "{refusal}");
        }
    }
}

fn bootstrap(password: impl Into<Vec<u8>>) -> Answer {
    let arguments = [
        "admin",
        "bootstrap",
        "--organization=Acme",
        "--username=ada",
        "--password-stdin",
    ];
    Keyward::new(&arguments).database(NOBODY).input(password).run()
}

#[test]
fn a_weak_password_is_refused_and_not_shown() {
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
            "the password is too easy to guess: choose another, such as several unrelated words".to_owned(),
        ),
        ("", "standard input is empty: pipe one line into it".to_owned()),
    ] {
        let answer = bootstrap(password);
        assert_eq!(answer.refusal(), sentence);
        assert!(password.is_empty() || !answer.errors.contains(password));
    }
}

#[test]
fn limits_that_cannot_work_are_refused() {
    let answer = Keyward::new(&["serve", "--listen=127.0.0.1:0", "--max-connections=0"])
        .database(NOBODY)
        .run();
    assert_eq!(
        answer.refusal(),
        "these limits cannot work: a server needs connections: allow at least one"
    );
}

#[test]
fn what_an_option_cannot_mean_is_a_usage_error() {
    for (variable, value) in [
        ("KEYWARD_LISTEN", "8080"),
        ("KEYWARD_KEY_LIMIT", "0"),
        ("KEYWARD_TRUSTED_PROXY", "10.1.0.0/8"),
        ("KEYWARD_LOG_FORMAT", "xml"),
        ("KEYWARD_LOG", "keyward=loud"),
        ("KEYWARD_DRAIN_TIMEOUT", "soon"),
        ("KEYWARD_DATABASE_POOL_SIZE", "0"),
    ] {
        let answer = Keyward::new(&["serve"]).variable(variable, value).run();
        assert_eq!(answer.code, Some(2), "{variable}: {answer:?}");
        assert!(answer.errors.contains("invalid value"), "{variable}: {answer:?}");
    }
}

#[test]
fn a_password_comes_from_exactly_one_place() {
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
        let answer = Keyward::new(arguments).database(NOBODY).run();
        assert_eq!(answer.code, Some(2), "{answer:?}");
    }
}

#[test]
fn a_misspelt_variable_is_warned_of() {
    let answer = Keyward::new(&["migrate"])
        .variable("KEYWARD_DATABSE_URL", NOBODY)
        .variable("KEYWARD_DATA_DIR", "/dev/null")
        .run();
    assert!(
        answer
            .refusal()
            .starts_with("the data directory /dev/null cannot")
    );
    let warning = answer.errors.lines().next().unwrap();
    assert!(warning.contains("\"level\":\"WARN\""), "{warning}");
    assert!(warning.contains("KEYWARD_DATABSE_URL"), "{warning}");
    assert!(!warning.contains("s3cret"), "{warning}");
}
