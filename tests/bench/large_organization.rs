//! One large organization of three years, and how long its pages take.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use reqwest::header::COOKIE;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio_postgres::NoTls;

use crate::process::Server;
use crate::rows::{Cache, Meanwhile, Person};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{OWNER_PASSWORD, keyward};
use keyward_tests::storage::Storage;

/// A PostgreSQL database filled by `docs/large-organization.sql`.
pub(crate) async fn make(keys: usize, events: usize) -> Storage {
    let storage = Storage::postgres().await;
    let mut migrate = keyward(&storage);
    run(migrate.arg("migrate"), "").await;
    let mut bootstrap = keyward(&storage);
    bootstrap.args("admin bootstrap --organization Engines --username ada --password-stdin".split(' '));
    run(&mut bootstrap, OWNER_PASSWORD).await;
    let begun = Instant::now();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/large-organization.sql");
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "--quiet", "--file"]).arg(script);
    psql.args([format!("--set=keys={keys}"), format!("--set=events={events}")]);
    run(psql.arg(storage.as_postgres().url()), "").await;
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!("made an organization with {keys} keys and {events} events in {seconds:.0} s");
    storage
}

/// The same in an embedded database.
pub(crate) async fn embedded(postgres: &Storage) -> Storage {
    let storage = Storage::embedded();
    let begun = Instant::now();
    let mut export = keyward(postgres);
    let export = export.arg("export").stdout(Stdio::piped()).kill_on_drop(true);
    let mut export = export.spawn().expect("an export");
    let lines = export.stdout.take().expect("its output");
    let mut import = keyward(&storage);
    let import = import
        .arg("import")
        .stdin(lines.into_owned_fd().expect("a pipe"))
        .kill_on_drop(true);
    let imported = import.status().await.expect("an import");
    assert!(imported.success(), "{imported}");
    assert!(export.wait().await.expect("an end").success());
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!("copied it into an embedded database in {seconds:.0} s");
    storage
}

/// Milliseconds from asking for a page until all of it is there, this many times after a first time. Its URL is below
/// the settings of the organization.
pub(crate) async fn page_millis(storage: &Storage, person: Person, page: &str, times: usize) -> Vec<f64> {
    let keep_all = ["--keep-revoked-keys", "36500"];
    let server = Server::keyward(storage, Cache::On, Meanwhile::Nothing, &keep_all).await;
    let base_url = format!("http://{}", server.address);
    let username = match person {
        Person::Owner => "ada",
        Person::HolderOfMany => HOLDER_OF_MANY,
    };
    let console = PlainConsole::sign_in(&base_url, username, OWNER_PASSWORD).await;
    let url = format!("{base_url}/organizations/engines/settings/{page}");
    let client = Client::builder()
        .redirect(Policy::none())
        .build()
        .expect("a client");
    let mut values = Vec::new();
    for _ in 0..=times {
        let begun = Instant::now();
        let answer = client.get(&url).header(COOKIE, console.cookie()).send().await;
        let answer = answer.expect("an answer");
        let status = answer.status();
        // Where a word may mean many, the page asks which.
        let asks_which = page.starts_with("audit-log?wh") && status == StatusCode::UNPROCESSABLE_ENTITY;
        assert!(status == StatusCode::OK || asks_which, "{url}: {status}");
        answer.bytes().await.expect("a page");
        values.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    // The first sample includes the setup of the connections to the database.
    values.remove(0);
    server.end().await;
    values
}

/// The member who has every 33rd key.
const HOLDER_OF_MANY: &str = "alan1";

/// The path with what it is about in place of `{holder}`, `{key}`, `{middle}`, `{project}` and `{yesterday}`.
pub(crate) async fn with_identifiers(storage: &Storage, page: &str) -> String {
    let (client, connection) = tokio_postgres::connect(storage.as_postgres().url(), NoTls)
        .await
        .expect("a connection");
    let connection = tokio::spawn(connection);
    let selected = client
        .query_one(
            "SELECT
                 (SELECT CAST(memberships.id AS text) FROM memberships JOIN users ON users.id = user_id
                  WHERE username = $1) AS holder,
                 (SELECT CAST(id AS text) FROM api_keys ORDER BY id DESC LIMIT 1) AS key,
                 (SELECT CAST(id AS text) FROM api_keys ORDER BY id
                  OFFSET (SELECT count(*) / 2 FROM api_keys) LIMIT 1) AS middle,
                 (SELECT CAST(id AS text) FROM projects ORDER BY id LIMIT 1) AS project,
                 to_char(now() AT TIME ZONE 'UTC' - interval '1 day', 'YYYY-MM-DD\"T\"HH24:MI:SS') AS yesterday",
            &[&HOLDER_OF_MANY],
        )
        .await
        .expect("what pages are about");
    drop(client);
    let _ = connection.await;
    let columns = selected.columns().iter().enumerate();
    columns.fold(page.to_owned(), |page, (number, column)| {
        page.replace(&format!("{{{}}}", column.name()), selected.get(number))
    })
}

/// Runs a program that succeeds.
async fn run(command: &mut Command, input: &str) {
    let command = command.env("KEYWARD_PUBLIC_URL", "http://127.0.0.1");
    let streams = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = streams.kill_on_drop(true).spawn().expect("a program");
    let mut stdin = process.stdin.take().expect("standard input");
    stdin.write_all(input.as_bytes()).await.expect("input is read");
    drop(stdin);
    let output = process.wait_with_output().await.expect("an end");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}
