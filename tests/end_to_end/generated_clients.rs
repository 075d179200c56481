//! Clients that others' generators make of the document: programs on them compile and work against the real service.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::api::Api;
use crate::console::PlainConsole;
use crate::keyward::Keyward;
use crate::others::{document, packages, run};

#[path = "../clients/rust/client.rs"]
mod rust_client;

#[tokio::test(flavor = "multi_thread")]
async fn generated_typescript_client_uses_keys_and_projects() {
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
async fn generated_python_client_uses_keys_and_projects() {
    let tools = packages("clients/python");
    let programs = tools.join("venv/bin");
    let folder = fresh_folder(tools.join("program"));
    copy(&program("python").join("client.py"), &folder.join("client.py"));
    // It formats what it makes with ruff, which lies beside it.
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
async fn generated_rust_client_uses_keys_and_projects() {
    let (keyward, api) = with_projects().await;
    let token = api.token().expect("a token");
    rust_client::uses_keys_and_projects(keyward.base_url(), token, "holder").await;

    let (keyward, api) = with_projects().await;
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
    rust_client::uses_keys_and_projects(&url, token, "added_later").await;
    drop(later.stdin.take());
    assert!(later.wait().await.expect("its end").success());
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
    let (keyward, api) = with_projects().await;
    let output = run(program
        .env("KEYWARD_URL", keyward.base_url())
        .env("KEYWARD_API_KEY", api.token().expect("a token")))
    .await;
    assert_eq!(output.trim(), "OK");
}

/// A service with two projects, and a key that reaches them.
async fn with_projects() -> (Keyward, Api) {
    let keyward = Keyward::start_set_up().await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;
    for name in ["差分機関", "Engine"] {
        owner.join_new_project(name).await;
    }
    (keyward, api)
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

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}
