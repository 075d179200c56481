//! An installation that moves from one database to another.

use std::fs::OpenOptions;
use std::process::Stdio;

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::browser::{cookie, create_key, front_page_leads_to, sign_in};
use crate::data_directory::DataDirectory;
use crate::place::{Place, pipe};
use crate::server::{HttpAnswer, Server};
use crate::setup::PASSWORD;

fn user(server: &Server, method: &str, path: &str, token: &str) -> HttpAnswer {
    server.ask(method, path, &[&format!("Authorization: Bearer {token}")], "")
}

/// The token on the page that shows it once.
fn token(created: &HttpAnswer) -> String {
    let begins = created.body.find("kwp_").unwrap();
    created.body[begins..].chars().take(42).collect()
}

/// Sessions, keys and data of the old database work unchanged in the new one.
fn move_to(from: &Place, to: &Place) {
    from.bootstrap();
    let mut server = from.serve(&[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let cookie = cookie(&signed_in).to_owned();
    let kept = token(&create_key(&server, &cookie, "kept"));
    let revoked = token(&create_key(&server, &cookie, "revoked"));
    let revocation = user(&server, "DELETE", "/api/v1/user/api-keys/current", &revoked);
    assert_eq!(revocation.status, 204, "{revocation:?}");
    server.signal(Signal::TERM);
    server.ended();

    pipe(from, to);
    assert_eq!(to.export(), from.export());

    let server = to.serve(&[]);
    let me = user(&server, "GET", "/api/v1/user", &kept);
    assert_eq!(me.status, 200, "{me:?}");
    assert_eq!(me.json()["username"], "ada");
    assert_eq!(user(&server, "GET", "/api/v1/user", &revoked).status, 401);
    let keys = user(&server, "GET", "/api/v1/user/api-keys", &kept);
    assert!(keys.body.contains("\"kept\""), "{keys:?}");
    let list = "/organizations/acme-sons/settings/api-keys";
    let listed = server.ask("GET", list, &[&format!("Cookie: {cookie}")], "");
    assert_eq!(listed.status, 200, "still signed in: {listed:?}");
    let signed_in = sign_in(&server, "ada", PASSWORD);
    assert_eq!(
        front_page_leads_to(&server, crate::browser::cookie(&signed_in)),
        list
    );
    assert_eq!(
        sign_in(&server, "ada", "another password").header("set-cookie"),
        None
    );
}

#[tokio::test]
async fn transfer_from_file_to_postgresql_keeps_tokens_passwords_and_sessions() {
    move_to(&Place::file("to-postgres"), &Place::server().await);
}

#[tokio::test]
async fn transfer_from_postgresql_to_file_keeps_tokens_passwords_and_sessions() {
    move_to(&Place::server().await, &Place::file("from-postgres"));
}

#[tokio::test]
async fn export_succeeds_beside_a_running_server() {
    for place in [Place::file("export-served"), Place::server().await] {
        let _server = place.serve(&[]);
        place.bootstrap();
        assert!(place.export().contains("\"username\":\"ada\""));
    }
}

#[test]
fn import_is_refused_while_a_server_runs() {
    let from = Place::file("import-served-from");
    from.bootstrap();
    let to = DataDirectory::new("import-served");
    let mut server = Server::start_in(to.path());
    let answer = to.run(&["import"], &from.export());
    let refusal = answer.refusal();
    assert!(
        refusal.contains("is in use by another keyward command or server"),
        "{refusal}"
    );
    server.signal(Signal::TERM);
    server.ended();
    to.run(&["import"], &from.export()).success();
}

#[tokio::test]
async fn refused_import_changes_nothing() {
    let from = Place::file("refused-from");
    from.bootstrap();
    let export = from.export();
    let cut = &export[..export.len() - 1];
    let line = export.lines().count();
    for to in [Place::file("refused-to"), Place::server().await] {
        to.keyward(&["migrate"]).run().success();
        for (input, reason) in [
            (
                "",
                "line 1 is not the first line of an export of Keyward".to_owned(),
            ),
            (
                cut,
                format!("the export was cut off: it ends at line {line}, without the last line"),
            ),
        ] {
            assert_eq!(
                to.import(input).refusal(),
                format!("nothing was imported: {reason}")
            );
        }
        to.import(&export).success();
        assert_eq!(
            to.import(&export).refusal(),
            "nothing was imported: the database is not empty: import into a new one, so that nothing is mixed or lost"
        );
        assert_eq!(to.export(), export);
    }
}

#[tokio::test]
async fn export_before_setup_is_refused() {
    for place in [Place::file("nothing"), Place::server().await] {
        place.keyward(&["migrate"]).run().success();
        assert_eq!(
            place.keyward(&["export"]).run().refusal(),
            "there is nothing to export, because this database is not set up: choose another with --data-dir or \
         KEYWARD_DATABASE_URL"
        );
    }
}

#[test]
fn terminal_in_place_of_a_file_is_refused() {
    let place = Place::file("terminal");
    place.bootstrap();
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let open = || {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap()
    };
    for (command, sentence) in [
        (
            &["export"][..],
            "error: standard output is a terminal, and the export contains password hashes: redirect it to a file that \
             only you can read, or pipe it into `keyward import`\n",
        ),
        (
            &["import"],
            "error: standard input is a terminal: redirect a file from `keyward export` to it, or pipe the output of `keyward export` into it\n",
        ),
        (
            &["admin", "repeat-revocations"],
            "error: standard input is a terminal: redirect a file from `keyward admin audit-log --after start --all` to it\n",
        ),
    ] {
        let mut process = place.keyward(command).into_command();
        let process = process.stdin(open()).stdout(open()).stderr(Stdio::piped());
        let answer = process.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(answer.status.code(), Some(1));
        assert_eq!(String::from_utf8(answer.stderr).unwrap(), sentence);
    }
}
