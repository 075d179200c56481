//! The one-time link of the first run, from the command line to the browser.

use keyward_test_database::TestDatabase;
use rustix::process::Signal;

use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::server::{HttpAnswer, Server};

fn path_of(link: &str) -> &str {
    link.strip_prefix("http://127.0.0.1:8080").unwrap().trim_end()
}

/// Opens the link as a browser does.
fn open(server: &Server, path: &str) -> HttpAnswer {
    let (page, token) = path.split_once("?token=").unwrap();
    let cookie = format!("Cookie: setup={token}");
    server.ask("GET", page, &[&cookie], "")
}

fn complete(server: &Server, path: &str, username: &str) -> HttpAnswer {
    let (_, token) = path.split_once("token=").unwrap();
    let form = format!(
        "token={token}&organization=Acme&display_name=Somebody&username={username}&password=quiet+otters+read+maps"
    );
    let headers = [
        "Sec-Fetch-Site: same-origin",
        "Content-Type: application/x-www-form-urlencoded",
    ];
    server.ask("POST", "/setup", &headers, &form)
}

#[tokio::test]
async fn setup_link_works_once_and_explains_itself_afterwards() {
    let database = TestDatabase::empty().await.unwrap();
    let server = Server::start(database.url(), &[]);
    let setup_link = || {
        Keyward::new(&["admin", "setup-link"])
            .database(database.url())
            .run()
    };
    let link = setup_link().success();
    let path = path_of(&link);
    assert_eq!(open(&server, path).status, 200);
    assert_eq!(complete(&server, path, "ada").status, 303);

    for second in [open(&server, path), complete(&server, path, "eve")] {
        assert_eq!(second.status, 410);
        assert_eq!(second.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(second.body.contains("Keyward is already set up"), "{second:?}");
        assert_eq!(second.header("set-cookie"), None);
    }
    assert_eq!(
        setup_link().refusal(),
        "Keyward is already set up: add users with `keyward admin create-user`"
    );
    assert_eq!(
        Keyward::new(&["admin", "reset-password", "--username=eve", "--generate-password"])
            .database(database.url())
            .run()
            .refusal(),
        "there is no user named eve"
    );
}

#[tokio::test]
async fn expired_setup_link_explains_how_to_get_another() {
    let database = TestDatabase::empty().await.unwrap();
    let server = Server::start(database.url(), &[]);
    let setup_link = || {
        Keyward::new(&["admin", "setup-link"])
            .database(database.url())
            .run()
    };
    let link = setup_link().success();
    let path = path_of(&link);
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let expired = client
        .execute(
            "UPDATE installation SET setup_link_expires_at = setup_link_expires_at - interval '24 hours'",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(expired, 1);
    drop(client);
    connection.await.unwrap().unwrap();

    for late in [open(&server, path), complete(&server, path, "ada")] {
        assert_eq!(late.status, 404);
        assert!(
            late.body.contains("This setup link is no longer valid"),
            "{late:?}"
        );
        assert!(late.body.contains("keyward admin setup-link"), "{late:?}");
    }
    let another = setup_link().success();
    assert_eq!(complete(&server, path_of(&another), "ada").status, 303);
}

/// `cargo run` puts no `keyward` on the search path.
#[test]
fn setup_hint_names_the_program_as_started() {
    let directory = DataDirectory::new("as-started");
    let keyward = |arguments: &[&str]| {
        Keyward::new(arguments)
            .data_directory(directory.path())
            .typed("target/debug/keyward")
    };
    let mut server = Server::spawn(keyward(&["serve", "--listen=127.0.0.1:0"]));
    let event = server.event("not set up; the command prints the setup link");
    let command = event["command"].as_str().unwrap();
    assert!(
        command.starts_with("target/debug/keyward admin setup-link --data-dir "),
        "{event}"
    );
    let create_user = ["admin", "create-user", "--username=bob", "--generate-password"];
    let on_this_database = format!("--data-dir {}", directory.path().display());
    assert_eq!(
        keyward(&create_user).run().refusal(),
        format!(
            "Keyward is not set up yet: run `target/debug/keyward admin setup-link {on_this_database}` to set it up in \
             a browser, or `target/debug/keyward admin bootstrap {on_this_database}` to set it up here"
        )
    );
}

#[test]
fn command_on_setup_page_prints_link_without_showing_the_directory() {
    let directory = DataDirectory::new("setup-page");
    let mut server = Server::start_in(directory.path());
    let page = server.get("/").body;
    assert!(!page.contains(&directory.path().display().to_string()), "{page}");
    let (_, shown) = page.split_once("<code id=\"setup-command\">").unwrap();
    let (shown, _) = shown.split_once("</code>").unwrap();
    let (options, public_url) = shown.split_once("&#60;data-directory&#62;").unwrap();
    assert_eq!(options, "keyward admin setup-link --data-dir ");

    let whole = format!("{options}{}{public_url}", directory.path().display());
    let words: Vec<&str> = whole.split(' ').collect();
    let answer = Keyward::new(&words[1..]).run();
    assert!(!answer.errors.contains("new database"), "{}", answer.errors);
    let link = answer.success();
    let (_, path) = link.trim_end().split_once(&server.address).unwrap();
    assert_eq!(open(&server, path).status, 200);
    server.signal(Signal::TERM);
    let (_, log) = server.ended();
    assert!(log.contains(&format!("\"command\":\"{whole}\"")), "{log}");
}
