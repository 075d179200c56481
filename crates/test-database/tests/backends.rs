//! The command that starts one server for a whole run.
#![expect(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// An engine that does not answer, so that only the machine's own programs remain.
const NO_ENGINE: &str = "unix:///nonexistent/engine.sock";

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_test-database"));
    command
        .args(arguments)
        .env_remove("TEST_DATABASE_URL")
        .env("DOCKER_HOST", NO_ENGINE);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn start(command: &mut Command) -> (Child, ChildStdin, String) {
    let mut child = command.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin, url.trim().to_owned())
}

async fn answers(url: &str) -> bool {
    match tokio_postgres::connect(url, tokio_postgres::NoTls).await {
        Ok((client, connection)) => {
            tokio::spawn(connection);
            client.simple_query("SELECT 1").await.is_ok()
        }
        Err(_) => false,
    }
}

#[tokio::test]
async fn cluster_answers_until_its_input_closes() {
    let (mut child, stdin, url) = start(&mut command(&["--database", "cluster"]));
    assert!(answers(&url).await, "{url}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(!answers(&url).await);
}

#[tokio::test]
async fn cluster_ends_when_its_owner_is_killed() {
    let (mut child, _stdin, url) = start(&mut command(&["--database", "cluster"]));
    assert!(answers(&url).await, "{url}");
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while answers(&url).await {
        assert!(Instant::now() < deadline, "the cluster still answers");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn kept_cluster_is_found_again_with_its_data() {
    let folder = temporary_folder("kept");
    let keep = ["--keep", folder.to_str().unwrap()];
    for statement in ["CREATE TABLE kept (name text)", "SELECT name FROM kept"] {
        let (mut child, stdin, url) = start(&mut command(&keep));
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        client.batch_execute(statement).await.unwrap();
        drop(client);
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn required_containers_fail_without_a_container_engine() {
    let output = command(&["--database", "containers"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{stderr}");
    for expected in [
        "container: ",
        "set TEST_DATABASE_URL=",
        "start a container engine",
        "apt-get install postgresql",
    ] {
        assert!(stderr.contains(expected), "{expected:?} is missing in {stderr}");
    }
    assert!(!stderr.contains("private cluster:"), "{stderr}");
}

#[test]
fn unreachable_url_fails_instead_of_using_another_backend() {
    let url = "postgres://me:s3cret@127.0.0.1:1/postgres";
    let output = command(&[]).env("TEST_DATABASE_URL", url).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{stderr}");
    assert!(
        stderr.contains("could not connect to postgres://me@127.0.0.1:1/postgres"),
        "{stderr}"
    );
    assert!(!stderr.contains("s3cret"), "{stderr}");
}

fn temporary_folder(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("keyward_test_{name}_{}", std::process::id()))
}
