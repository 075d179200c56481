//! Services that let others' libraries introspect the tokens of their clients.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::others::packages;
use keyward_tests::api::text;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;
use keyward_tests::verifiers::Verifier;

#[tokio::test(flavor = "multi_thread")]
async fn authlib_validates_tokens_by_introspection() {
    validates_tokens(|| {
        let mut program = Command::new(packages("resource_servers/python").join("venv/bin/python"));
        program.arg(program_file("python/resource_server.py"));
        program
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oauth4webapi_validates_tokens_by_introspection() {
    // Below the packages, so that node finds them.
    let copy = packages("resource_servers/node").join("resource_server.js");
    std::fs::copy(program_file("node/resource_server.js"), &copy).expect("a copy");
    validates_tokens(|| {
        let mut program = Command::new("node");
        program.arg(&copy);
        program
    })
    .await;
}

async fn validates_tokens(program: impl Fn() -> Command) {
    let verifier = Verifier::create("orders-service").await;
    let keyward = Keyward::start_set_up_with(&[&verifier.option()]).await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;
    owner.join_new_project("Engine").await;
    let user = api.get("/user").await;
    let mut server = ResourceServer::start(program(), &keyward, verifier.name, &verifier.secret);

    let created = api.create("to be revoked", "").await;
    let bearer = format!("Bearer {}", text(&created, "key"));
    let known = server.ask(&bearer).await;
    let accepted = &known["accepted"];
    for (member, expected) in [
        ("active", &json!(true)),
        ("sub", &user["userId"]),
        ("username", &user["username"]),
        ("client_id", &user["consumerId"]),
        ("token_type", &json!("Bearer")),
        ("jti", &created["id"]),
        ("organization", &user["organization"]),
        ("more_projects", &json!(false)),
    ] {
        assert_eq!(&accepted[member], expected, "{member}: {known}");
    }
    assert_eq!(accepted["projects"][0]["name"], "Engine", "{known}");

    api.delete(text(&created, "id")).await;
    for refused in [&bearer, "Bearer kwp_x", "Bearer x"] {
        assert_eq!(
            server.ask(refused).await,
            json!({"refused": "invalid_token"}),
            "{refused}"
        );
    }
    assert_eq!(server.ask("").await, json!({"refused": "missing_authorization"}));

    let valid = format!("Bearer {}", api.token().expect("a token"));
    assert_eq!(server.ask(&valid).await["accepted"]["active"], true);
    let mut stranger = ResourceServer::start(program(), &keyward, "orders-service", "a wrong secret");
    assert_eq!(stranger.ask(&valid).await, json!({"failed": 401}));
    stranger.end().await;

    let unseen = api.create("never introspected", "").await;
    let unseen = format!("Bearer {}", text(&unseen, "key"));
    let database = keyward.storage().as_postgres();
    database.refuse_connections().await.expect("an outage");
    database.terminate_connections().await.expect("an outage");
    assert_eq!(server.ask(&unseen).await, json!({"failed": 503}));
    server.end().await;
}

/// A program that reads the `Authorization` of one request from a line, and prints its decision in one.
struct ResourceServer {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl ResourceServer {
    fn start(mut program: Command, keyward: &Keyward, verifier: &str, secret: &str) -> Self {
        let mut process = program
            .env("KEYWARD_URL", keyward.base_url())
            .env("VERIFIER", verifier)
            .env("VERIFIER_SECRET", secret)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{program:?} does not start: {error}"));
        let input = process.stdin.take().expect("standard input");
        let output = BufReader::new(process.stdout.take().expect("standard output")).lines();
        Self {
            process,
            input,
            output,
        }
    }

    async fn ask(&mut self, authorization: &str) -> Value {
        let line = format!("{authorization}\n");
        self.input.write_all(line.as_bytes()).await.expect("it reads");
        let known = self.output.next_line().await.expect("text").expect("a line");
        serde_json::from_str(&known).unwrap_or_else(|error| panic!("{error}: {known}"))
    }

    async fn end(mut self) {
        drop(self.input);
        assert!(self.process.wait().await.expect("its end").success());
    }
}

fn program_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("resource_servers")
        .join(name)
}
