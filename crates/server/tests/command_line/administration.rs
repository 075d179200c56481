//! Administrative commands on a database.

use std::fs::OpenOptions;
use std::process::Command;

use keyward_test_database::TestDatabase;

use crate::browser::{cookie, front_page_leads_to, sign_in};
use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::server::Server;
use crate::setup::{PASSWORD, bootstrap, set_up};

fn keyward(database: &TestDatabase, arguments: &[&str]) -> Keyward {
    Keyward::new(arguments).database(database.url())
}

async fn empty() -> TestDatabase {
    TestDatabase::empty().await.unwrap()
}

#[tokio::test]
async fn repeated_migration_changes_nothing() {
    let database = empty().await;
    for _ in 0..2 {
        let answer = keyward(&database, &["migrate"]).run();
        assert_eq!(answer.errors, "The database is up to date.\n");
        assert_eq!(answer.success(), "");
    }
}

#[tokio::test]
async fn bootstrap_works_once() {
    let database = empty().await;
    let first = bootstrap(database.url());
    assert_eq!(
        first.errors,
        "Created the organization acme-sons and its owner ada, who can now sign in to the console.\n"
    );
    assert_eq!(first.success(), "");
    for command in [
        &["admin", "setup-link"][..],
        &[
            "admin",
            "bootstrap",
            "--organization=B",
            "--username=bob",
            "--generate-password",
        ],
    ] {
        assert_eq!(
            keyward(&database, command).run().refusal(),
            "Keyward is already set up: add users with `keyward admin create-user`"
        );
    }
}

#[tokio::test]
async fn standard_output_contains_only_the_setup_link() {
    let database = empty().await;
    let answer = keyward(&database, &["admin", "setup-link"])
        .variable("KEYWARD_PUBLIC_URL", "https://keys.example.com/")
        .variable("KEYWARD_LOG", "trace")
        .run();
    let errors = answer.errors.clone();
    let output = answer.success();
    let token = output
        .strip_prefix("https://keys.example.com/setup?token=")
        .and_then(|rest| rest.strip_suffix('\n'))
        .unwrap();
    assert_eq!(token.len(), 64, "{output}");
    assert!(!errors.contains(token), "the link is in the log: {errors}");
}

#[tokio::test]
async fn user_creation_before_setup_is_refused() {
    let database = empty().await;
    let answer = keyward(
        &database,
        &["admin", "create-user", "--username=bob", "--generate-password"],
    )
    .run();
    assert_eq!(
        answer.refusal(),
        "Keyward is not set up yet: run `keyward admin setup-link` to set it up in a browser, or `keyward admin \
         bootstrap` to set it up here"
    );
}

#[tokio::test]
async fn standard_output_contains_only_the_generated_password() {
    let database = set_up().await;
    for arguments in [
        &["admin", "create-user", "--username=bob", "--generate-password"][..],
        &["admin", "reset-password", "--username=bob", "--generate-password"],
    ] {
        let answer = keyward(&database, arguments)
            .variable("KEYWARD_LOG", "trace")
            .run();
        let errors = answer.errors.clone();
        let password = answer.success();
        assert_eq!(
            password.len(),
            "aaaaa-bbbbb-ccccc-ddddd-eeeee\n".len(),
            "{password}"
        );
        assert!(
            !errors.contains(password.trim()),
            "the password is in the log: {errors}"
        );
    }
}

#[tokio::test]
async fn taken_username_is_refused() {
    let database = set_up().await;
    let answer = keyward(
        &database,
        &["admin", "create-user", "--username=ada", "--password-stdin"],
    )
    .input(PASSWORD)
    .run();
    assert_eq!(answer.refusal(), "the username ada is taken: choose another");
}

#[tokio::test]
async fn unknown_user_or_organization_is_named() {
    let database = set_up().await;
    let answer = keyward(
        &database,
        &["admin", "reset-password", "--username=bob", "--generate-password"],
    )
    .run();
    assert_eq!(answer.refusal(), "there is no user named bob");
    let answer = keyward(
        &database,
        &[
            "admin",
            "create-user",
            "--username=bob",
            "--organization=other",
            "--generate-password",
        ],
    )
    .run();
    assert_eq!(
        answer.refusal(),
        "there is no organization other: set --organization to one of acme-sons"
    );
}

#[tokio::test]
async fn password_reset_replaces_the_password_and_ends_its_sessions() {
    let database = set_up().await;
    let server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let cookie = cookie(&signed_in);
    let page = front_page_leads_to(&server, cookie);
    assert!(page.starts_with("/organizations/acme-sons/"), "{page}");

    let new_password = "seven lamps burn low";
    let answer = keyward(
        &database,
        &["admin", "reset-password", "--username=ada", "--password-stdin"],
    )
    .input(format!("{new_password}\n"))
    .run();
    assert_eq!(
        answer.errors,
        "Replaced the password of ada and ended all of their sessions. Their keys stay valid.\n"
    );
    assert_eq!(answer.success(), "");

    let page = front_page_leads_to(&server, cookie);
    assert!(page.starts_with("/sign-in"), "{page}");
    assert_eq!(sign_in(&server, "ada", PASSWORD).status, 422);
    assert_eq!(sign_in(&server, "ada", new_password).status, 303);
}

#[tokio::test]
async fn created_user_can_sign_in() {
    let database = set_up().await;
    let arguments = [
        "admin",
        "create-user",
        "--username=bob",
        "--role=owner",
        "--display-name=Bob ✨",
    ];
    let password = keyward(&database, &[&arguments[..], &["--generate-password"]].concat())
        .run()
        .success();
    let server = Server::start(database.url(), &[]);
    assert_eq!(sign_in(&server, "bob", password.trim_end()).status, 303);
}

/// The session ends within its COMMIT, as when the server or the network fails then.
#[tokio::test]
async fn unconfirmed_change_says_how_to_continue() {
    let database = set_up().await;
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute(
            "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER end_session AFTER INSERT ON audit_events DEFERRABLE INITIALLY DEFERRED
                 FOR EACH ROW EXECUTE FUNCTION end_session()",
        )
        .await
        .unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    for (arguments, username) in [
        (["admin", "create-user", "--username=bob"], "bob"),
        (["admin", "reset-password", "--username=ada"], "ada"),
    ] {
        let answer = keyward(&database, &[&arguments[..], &["--generate-password"]].concat()).run();
        let expected = format!(
            "the database did not confirm the change, and the generated password was not shown: run `keyward admin \
             reset-password --generate-password --username {username}` to generate another; if that finds no such user, \
             repeat this command: "
        );
        assert!(answer.refusal().starts_with(&expected), "{answer:?}");
        let typed = keyward(&database, &[&arguments[..], &["--password-stdin"]].concat())
            .input("seven green kettles sing")
            .run();
        let refusal = typed.refusal();
        assert!(
            refusal.starts_with("storage did not confirm whether the change was made: ")
                && refusal.ends_with(": repeat the command, which does no harm if the change was made"),
            "{refusal}"
        );
    }
    let new = ["admin", "create-organization", "--name=Acme", "--owner=ada"];
    let answer = keyward(&database, &new).run();
    assert!(
        answer.refusal().starts_with(
            "the database did not confirm the change: repeat this command only if the owner does not find the \
             organization in the console: "
        ),
        "{answer:?}"
    );
}

#[tokio::test]
async fn lost_generated_password_can_be_replaced() {
    let database = set_up().await;
    let reset = ["admin", "reset-password", "--username=ada", "--generate-password"];
    assert_eq!(
        advice_without_output(keyward(&database, &reset)),
        "keyward admin reset-password --generate-password --username ada"
    );
    assert_eq!(keyward(&database, &reset).run().success().trim().len(), 29);
}

#[test]
fn advice_for_a_lost_password_runs_as_printed() {
    let directory = DataDirectory::new("it's lost");
    for arguments in [
        ["bootstrap", "--username=ada", "--organization=Acme"],
        ["create-user", "--username=bob.b", "--role=member"],
        ["reset-password", "--username=bob.b", "--log-level=warn"],
    ] {
        let arguments = [&["admin"], &arguments[..], &["--generate-password"]].concat();
        let command = Keyward::new(&arguments)
            .data_directory(directory.path())
            .typed(env!("CARGO_BIN_EXE_keyward"));
        let advice = advice_without_output(command);
        let reset = Command::new("sh")
            .args(["-c", &advice])
            .env_clear()
            .output()
            .unwrap();
        let errors = String::from_utf8(reset.stderr).unwrap();
        let username = arguments[2].trim_start_matches("--username=");
        let replaced = format!("Replaced the password of {username} ");
        assert!(errors.starts_with(&replaced), "{advice}: {errors}");
        let password = String::from_utf8(reset.stdout).unwrap();
        assert_eq!(password.trim().len(), 29, "{advice}");
    }
}

/// The command that it advises when it cannot write the password that it generated.
#[track_caller]
fn advice_without_output(keyward: Keyward) -> String {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = keyward.into_command().stdout(full).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let errors = String::from_utf8(ended.stderr).unwrap();
    let advice = errors
        .split_once("the generated password was not shown: run `")
        .and_then(|(_, rest)| rest.split_once("` to generate another"));
    advice
        .unwrap_or_else(|| panic!("no advice: {errors}"))
        .0
        .to_owned()
}
