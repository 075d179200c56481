//! The effects of options on a running server.

use keyward_test_database::TestDatabase;
use tempfile::NamedTempFile;

use crate::browser::{cookie, create_key, sign_in};
use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::server::Server;
use crate::setup::{PASSWORD, set_up};

#[tokio::test]
async fn key_limit_option_sets_the_limit() {
    let database = set_up().await;
    let server = Server::start(database.url(), &["--key-limit=1"]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let first = create_key(&server, cookie(&signed_in), "first");
    assert_eq!(first.status, 200, "{first:?}");
    assert!(first.body.contains("kwp_"));
    let second = create_key(&server, cookie(&signed_in), "second");
    assert_ne!(second.status, 200, "{second:?}");
    assert!(!second.body.contains("kwp_"));
}

#[tokio::test]
async fn change_rate_options_set_the_rate_limit() {
    let database = set_up().await;
    let server = Server::start(database.url(), &["--change-rate=1", "--change-burst=1"]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let first = create_key(&server, cookie(&signed_in), "first");
    assert_eq!(first.status, 200, "{first:?}");
    let second = create_key(&server, cookie(&signed_in), "second");
    assert_eq!(second.status, 429, "{second:?}");
    let seconds: u32 = second.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn https_public_url_enables_secure_cookies_and_hsts() {
    let database = set_up().await;
    let server = Server::start(database.url(), &["--public-url=https://keys.example.com"]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let cookie = signed_in.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-session="), "{cookie}");
    assert!(cookie.contains("; Secure"), "{cookie}");
    assert!(
        server
            .get("/healthz")
            .header("strict-transport-security")
            .is_some()
    );

    let local = Server::start(database.url(), &[]);
    assert!(
        local
            .get("/healthz")
            .header("strict-transport-security")
            .is_none()
    );
}

#[tokio::test]
async fn only_trusted_proxies_set_the_client_address() {
    let database = TestDatabase::empty().await.unwrap();
    for (arguments, client) in [
        (&[][..], "127.0.0.1"),
        (&["--trusted-proxy=127.0.0.0/8"], "192.0.2.7"),
        (
            &["--trusted-proxy=10.0.0.0/8", "--trusted-proxy=127.0.0.1"],
            "192.0.2.7",
        ),
        (&["--trusted-proxy=10.0.0.0/8"], "127.0.0.1"),
        (
            &["--trusted-proxy=127.0.0.1", "--forwarded-header=forwarded"],
            "127.0.0.1",
        ),
    ] {
        let mut server = Server::start(database.url(), arguments);
        server.ask("GET", "/sign-in", &["X-Forwarded-For: 192.0.2.7"], "");
        assert_eq!(
            server.event("request answered")["client"],
            client,
            "{arguments:?}"
        );
    }
}

#[test]
fn data_directory_flag_overrides_the_database_url_variable() {
    let directory = DataDirectory::new("flag-wins");
    let path = directory.path().to_str().unwrap();
    let nowhere = "postgres://keyward@127.0.0.1:1/keyward";
    let migrated = Keyward::new(&["migrate", "--data-dir", path])
        .variable("KEYWARD_DATABASE_URL", nowhere)
        .variable("KEYWARD_MIGRATION_DATABASE_URL", nowhere)
        .variable("KEYWARD_DATA_DIR", "/dev/null")
        .run();
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    assert!(directory.path().join("keyward.db").exists(), "{migrated:?}");
    for ignored in ["KEYWARD_DATABASE_URL", "KEYWARD_MIGRATION_DATABASE_URL"] {
        let warning = format!("variable ignored: --data-dir is set\",\"variable\":\"{ignored}\"");
        assert!(migrated.errors.contains(&warning), "{migrated:?}");
    }
}

#[test]
fn command_line_with_two_databases_is_rejected() {
    let url = "postgres://keyward@127.0.0.1:1/keyward";
    let answer = Keyward::new(&["migrate", "--data-dir=here", "--database-url", url]).run();
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.errors.contains("cannot be used with"), "{answer:?}");
}

#[tokio::test]
async fn database_url_can_be_read_from_a_file() {
    let database = TestDatabase::empty().await.unwrap();
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{}\n", database.url())).unwrap();
    let answer = Keyward::new(&["migrate"])
        .variable("KEYWARD_DATABASE_URL_FILE", file.path().to_str().unwrap())
        .run();
    answer.success();
}

#[test]
fn log_format_can_be_text() {
    let warning = |format: &str| {
        let answer = Keyward::new(&["migrate", "--log-format", format])
            .variable("KEYWARD_MISSPELT", "1")
            .variable("KEYWARD_DATA_DIR", "/dev/null")
            .run();
        answer.errors.lines().next().unwrap().to_owned()
    };
    assert!(warning("json").starts_with('{'));
    // No terminal reads this, so there are no colours.
    assert!(warning("text").contains(" WARN keyward: unknown variables ignored"));
}

#[test]
fn invalid_rate_limits_are_refused_with_a_reason() {
    for (value, wrong) in [
        ("600", "expected REQUESTS/WINDOW with a window in seconds"),
        ("600/1d", "expected REQUESTS/WINDOW with a window in seconds"),
        ("-1/1m", "expected REQUESTS/WINDOW with a window in seconds"),
        ("0/1m", "expected 1 to 1000000 requests, or off"),
        ("1000001/1m", "expected 1 to 1000000 requests, or off"),
        ("600/0s", "expected a window of 1 second to 24 hours, or off"),
        ("600/25h", "expected a window of 1 second to 24 hours, or off"),
    ] {
        for option in [
            "limit-failed-authentication",
            "limit-per-key",
            "limit-per-address",
            "limit-per-organization",
            "limit-per-verifier",
        ] {
            let flag = format!("--{option}={value}");
            let answer = Keyward::new(&["serve", &flag]).run();
            assert_eq!(answer.code, Some(2), "{flag}: {answer:?}");
            assert!(answer.errors.contains(wrong), "{flag}: {answer:?}");
            let variable = format!("KEYWARD_{}", option.replace('-', "_").to_uppercase());
            let by_variable = Keyward::new(&["serve"]).variable(&variable, value).run();
            let first_line = |errors: &str| errors.lines().next().map(str::to_owned);
            assert_eq!(
                first_line(&by_variable.errors),
                first_line(&answer.errors),
                "{variable}"
            );
        }
    }
}
