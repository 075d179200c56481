//! The container engine, by its command line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs to its end, and returns what it prints.
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
        // Containers are gone by now; what is left is for `docker image prune`.
        let _ = remove
            .args(["image", "rm", &self.0])
            .stdout(Stdio::null())
            .status();
    }
}

/// As `Dockerfile` says, of a program that is built already.
pub(crate) fn build_image() -> Image {
    let program =
        std::env::var_os("KEYWARD_BIN").expect("KEYWARD_BIN names the program: run `cargo xtask image`");
    let context = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("image");
    std::fs::create_dir_all(&context).expect("the image's context");
    std::fs::copy(program, context.join("keyward")).expect("a copy of the program");
    let image = Image(format!("keyward:test-{}", std::process::id()));
    let dockerfile = repository().join("Dockerfile");
    let build = [
        "build",
        "--quiet",
        "--target",
        "prebuilt",
        "--tag",
        image.name(),
        "--file",
    ];
    output(
        Command::new("docker").args(build).arg(dockerfile).arg(context),
        "",
    );
    image
}
