//! The container engine, by its command line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a command to its end, and returns its output.
pub(crate) fn output(command: &mut Command, input: &str) -> String {
    let line = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    let mut stdin = child.stdin.take().expect("standard input");
    // A command that needs no input may have ended before it is written.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let ended = child.wait_with_output().expect("an end");
    assert!(ended.status.success(), "{line} failed");
    String::from_utf8(ended.stdout).expect("text")
}

pub(crate) fn docker(arguments: &[&str]) -> String {
    output(Command::new("docker").args(arguments), "")
}

/// The engine's own `compose` or, where it has none, the program of that name.
pub(crate) fn compose() -> Command {
    let mut plugin = Command::new("docker");
    plugin
        .args(["compose", "version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if plugin.status().is_ok_and(|status| status.success()) {
        let mut compose = Command::new("docker");
        compose.arg("compose");
        compose
    } else {
        Command::new("docker-compose")
    }
}

pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
}

/// An image with the program that `KEYWARD_BIN` names; removed with the value.
pub(crate) struct Image(String);

impl Image {
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let mut remove = Command::new("docker");
        // The containers are removed by now; `docker image prune` removes the rest.
        let _ = remove
            .args(["image", "rm", &self.0])
            .stdout(Stdio::null())
            .status();
    }
}

/// Builds the image of `Dockerfile` with a program that is already compiled, because the compiling stage
/// takes long.
pub(crate) fn build_image() -> Image {
    let dockerfile = std::fs::read_to_string(repository().join("Dockerfile")).expect("the Dockerfile");
    let (runtime, _) = dockerfile
        .split_once("FROM rust:")
        .expect("a stage that compiles after the one that runs");
    let dockerfile = format!("{runtime}FROM runtime\nCOPY keyward /usr/local/bin/keyward\n");
    build("KEYWARD_BIN", "keyward", &dockerfile, "service")
}

/// A Debian machine whose first process is systemd, with the package that `KEYWARD_PACKAGE` names in its root
/// directory.
pub(crate) fn build_machine() -> Image {
    let dockerfile = include_str!("machine.Dockerfile");
    build("KEYWARD_PACKAGE", "keyward.deb", dockerfile, "machine")
}

/// Builds a Dockerfile whose context is one file, which a variable names.
fn build(variable: &str, name: &str, dockerfile: &str, purpose: &str) -> Image {
    let file = std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} names the file: run `cargo xtask image`"));
    let context = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(purpose);
    std::fs::create_dir_all(&context).expect("the image's context");
    std::fs::copy(file, context.join(name)).expect("a copy of the file");
    let image = Image(format!("keyward:{purpose}-{}", std::process::id()));
    let mut build = Command::new("docker");
    build.args(["build", "--quiet", "--file", "-", "--tag", image.name()]);
    output(build.arg(context), dockerfile);
    image
}
