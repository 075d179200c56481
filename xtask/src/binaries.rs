//! Builds the programs that the tasks and the tests run.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cargo_metadata::Message;

use crate::command::{cargo, command_line};
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// The variable that names the `keyward` that tests run.
pub(crate) const KEYWARD_VARIABLE: &str = "KEYWARD_BIN";

/// The programs that one build made, by name.
pub(crate) struct Binaries(BTreeMap<String, PathBuf>);

impl Binaries {
    pub(crate) fn path(&self, name: &str) -> Outcome<&Path> {
        let found = self.0.get(name).map(PathBuf::as_path);
        found.ok_or_else(|| Failure::new(format!("the build made no program named {name}")))
    }
}

/// Builds `keyward` and nothing beside it, and copies it to where no later build reaches.
///
/// In one build with the tests, cargo would unify features: what only tests ask of a dependency would be
/// compiled into the program that the end-to-end tests are about.
pub(crate) fn keyward_alone(workspace: &Workspace) -> Outcome<PathBuf> {
    let built = keyward_of(workspace, "dev")?;
    copy(&built, &workspace.target().join("keyward-alone"))
}

/// The same, optimized nearly as for a release (see `profile.faults` in the workspace's manifest).
pub(crate) fn keyward_released(workspace: &Workspace) -> Outcome<PathBuf> {
    let built = keyward_of(workspace, "faults")?;
    copy(&built, &workspace.target().join("keyward-released"))
}

/// Builds `keyward` and nothing beside it, where cargo leaves it.
pub(crate) fn keyward_of(workspace: &Workspace, profile: &str) -> Outcome<PathBuf> {
    program(workspace, profile, &["--package", "keyward", "--bin", "keyward"])
}

/// Builds what Keyward is measured against.
pub(crate) fn bare_handler(workspace: &Workspace, profile: &str) -> Outcome<PathBuf> {
    let example = ["--package", "keyward-front-door", "--example", "bare_handler"];
    program(workspace, profile, &example)
}

fn program(workspace: &Workspace, profile: &str, which: &[&str; 4]) -> Outcome<PathBuf> {
    let built = build(
        workspace,
        &[&["build", "--profile", profile], &which[..]].concat(),
    )?;
    Ok(built.path(which[3])?.to_owned())
}

/// Copies a program into a folder.
pub(crate) fn copy(program: &Path, folder: &Path) -> Outcome<PathBuf> {
    let copy = folder.join("keyward");
    fs::create_dir_all(folder).map_err(Failure::about(folder.display()))?;
    // A copy of the same path may still run, and would make a plain overwrite fail as busy.
    match fs::remove_file(&copy) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::about(copy.display())(error));
        }
        Ok(()) | Err(_) => {}
    }
    fs::copy(program, &copy).map_err(Failure::about(copy.display()))?;
    Ok(copy)
}

/// Builds every test and, with the features that the tests have, the program `test-database`.
pub(crate) fn tests(workspace: &Workspace) -> Outcome<Binaries> {
    build(
        workspace,
        &["build", "--workspace", "--tests", "--bin", "test-database"],
    )
}

/// Builds the programs of faults, with the features that the tests have, so that nothing is built twice.
pub(crate) fn faults(workspace: &Workspace) -> Outcome<Binaries> {
    let programs = [
        "--bench",
        "attacks",
        "--bench",
        "replicas",
        "--bin",
        "test-database",
    ];
    build(workspace, &[&["build", "--workspace"], &programs[..]].concat())
}

/// Builds the program that measures, likewise.
pub(crate) fn bench(workspace: &Workspace) -> Outcome<Binaries> {
    let programs = ["--bench", "bench", "--bin", "test-database"];
    build(workspace, &[&["build", "--workspace"], &programs[..]].concat())
}

/// Builds the program that tries the image, likewise.
pub(crate) fn image(workspace: &Workspace) -> Outcome<Binaries> {
    build(workspace, &["build", "--workspace", "--bench", "image"])
}

/// Builds the program `test-database` by itself: quick, because without the container backend.
pub(crate) fn test_database_tools(workspace: &Workspace) -> Outcome<Binaries> {
    build(
        workspace,
        &["build", "--package", "keyward-test-database", "--bins"],
    )
}

fn build(workspace: &Workspace, arguments: &[&str]) -> Outcome<Binaries> {
    let mut command = cargo(workspace, arguments);
    let line = command_line(&command);
    eprintln!("$ {line}");
    command
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(Failure::about(&line))?;
    let mut binaries = BTreeMap::new();
    if let Some(stdout) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(stdout)) {
            if let Message::CompilerArtifact(artifact) = message.map_err(Failure::about(&line))?
                && let Some(executable) = artifact.executable
                && (!artifact.profile.test || artifact.target.is_bench())
            {
                binaries.insert(artifact.target.name, executable.into());
            }
        }
    }
    let status = child.wait().map_err(Failure::about(&line))?;
    if status.success() {
        Ok(Binaries(binaries))
    } else {
        Err(Failure::new(format!("`{line}` failed: {status}")))
    }
}
