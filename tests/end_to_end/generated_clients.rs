//! Clients that others' generators make of the document: programs on them compile and work against the real service.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::others::{document, packages, run};
use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;
use keyward_tests::verifiers::Verifier;

#[path = "../clients/rust/client.rs"]
mod rust_client;

#[tokio::test(flavor = "multi_thread")]
async fn generated_typescript_client_calls_every_operation() {
    let tools = packages("clients/typescript");
    let node = |script: &str| {
        let mut command = Command::new("node");
        command.arg(tools.join("node_modules").join(script));
        command
    };
    // Below the packages, so that node finds them.
    let folder = fresh_folder(tools.join("program"));
    for file in ["client.ts", "tsconfig.json", "package.json"] {
        copy(&program("typescript").join(file), &folder.join(file));
    }
    let mut generate = node("openapi-typescript/bin/cli.js");
    run(generate.arg(document()).arg("-o").arg(folder.join("v1.ts"))).await;
    run(node("typescript/bin/tsc").arg("--project").arg(&folder)).await;
    let client = folder.join("client.js");
    works(Command::new("node").arg(&client)).await;
    works(later_version().arg("node").arg(&client)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_python_client_calls_every_operation() {
    let tools = packages("clients/python");
    let programs = tools.join("venv/bin");
    let folder = fresh_folder(tools.join("program"));
    copy(&program("python").join("client.py"), &folder.join("client.py"));
    // It formats its output with ruff, which is beside it.
    let mut path = vec![programs.clone()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").expect("a PATH")));
    let mut generate = Command::new(programs.join("openapi-python-client"));
    generate
        .args(["generate", "--fail-on-warning", "--meta", "none"])
        .args([OsStr::new("--path"), document().as_os_str()])
        .arg("--output-path")
        .arg(folder.join("keyward_api_client"))
        .env("PATH", std::env::join_paths(path).expect("a PATH"));
    run(&mut generate).await;
    let (python, client) = (programs.join("python"), folder.join("client.py"));
    works(Command::new(&python).arg(&client)).await;
    works(later_version().arg(&python).arg(&client)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_rust_client_calls_every_operation() {
    let (keyward, api, verifier) = with_projects().await;
    let token = api.token().expect("a token");
    let credentials = (verifier.name, verifier.secret.as_str());
    rust_client::calls_every_operation(keyward.base_url(), token, credentials, "holder").await;

    let (keyward, api, verifier) = with_projects().await;
    // It says where it is and stays until its input ends.
    let mut later = later_version()
        .args(["sh", "-c", "echo $KEYWARD_URL; cat"])
        .env("KEYWARD_URL", keyward.base_url())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a later version");
    let mut output = BufReader::new(later.stdout.take().expect("its output")).lines();
    let url = output.next_line().await.expect("a line").expect("an address");
    let token = api.token().expect("a token");
    let credentials = (verifier.name, verifier.secret.as_str());
    rust_client::calls_every_operation(&url, token, credentials, "added_later").await;
    drop(later.stdin.take());
    assert!(later.wait().await.expect("its end").success());
}

#[test]
fn generated_clients_call_all_documented_operations() {
    let document: Value = serde_json::from_str(&read(&document())).expect("a document");
    let python = read(&program("python").join("client.py"));
    let typescript = read(&program("typescript").join("client.ts"));
    let rust = read(&program("rust").join("client.rs"));
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let name = snake_case(text(operation, "operationId"));
            assert!(python.contains(&format!("{name}.sync")), "{name} in Python");
            assert!(rust.contains(&format!(".{name}(")), "{name} in Rust");
            let call = format!("{}(\"{path}\"", method.to_uppercase());
            assert!(typescript.contains(&call), "{name} in TypeScript");
        }
    }
}

fn snake_case(name: &str) -> String {
    let words = name.chars().flat_map(|letter| {
        let is_first = letter.is_ascii_uppercase();
        is_first
            .then_some('_')
            .into_iter()
            .chain([letter.to_ascii_lowercase()])
    });
    words.collect()
}

/// Runs a program against a service that answers as a later version might, with members and words that the document does
/// not have yet.
fn later_version() -> Command {
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/later_version.py"));
    command
}

/// Runs a program with a key of its own, and fails unless it reaches its end.
async fn works(program: &mut Command) {
    let (keyward, api, verifier) = with_projects().await;
    let output = run(program
        .env("KEYWARD_URL", keyward.base_url())
        .env("KEYWARD_API_KEY", api.token().expect("a token"))
        .env("VERIFIER", verifier.name)
        .env("VERIFIER_SECRET", &verifier.secret))
    .await;
    assert_eq!(output.trim(), "OK");
}

/// A service with two projects, a key that reaches them, and a verifier.
async fn with_projects() -> (Keyward, Api, Verifier) {
    let verifier = Verifier::create("orders-service").await;
    let keyward = Keyward::start_set_up_with(&[&verifier.option()]).await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;
    for name in ["差分機関", "Engine"] {
        owner.join_new_project(name).await;
    }
    (keyward, api, verifier)
}

/// The folder with the program in a language.
fn program(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("clients")
        .join(language)
}

fn fresh_folder(folder: PathBuf) -> PathBuf {
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("no old program");
    }
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}
