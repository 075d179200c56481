//! Attacks on servers, and failures around them, with figures.

use std::process::Command;

use crate::binaries::{self, KEYWARD_VARIABLE};
use crate::command::run;
use crate::database_server::{DatabaseServer, URL_VARIABLE};
use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// `cargo xtask faults KIND`; further `arguments` go to the program in `tests/KIND`.
pub(crate) fn faults(workspace: &Workspace, arguments: &[String]) -> Outcome {
    tools::ensure(workspace, tools::FOR_FAULTS)?;
    match arguments.split_first().map(|(kind, rest)| (kind.as_str(), rest)) {
        Some(("attacks", rest)) => attacks(workspace, "auto", rest),
        Some(("replicas", rest)) => replicas(workspace, rest),
        _ => Err(Failure::new(
            "which faults? `cargo xtask faults attacks` attacks a server, `cargo xtask faults replicas` breaks what several \
             servers share",
        )),
    }
}

/// Plays every attack against the release build on both databases, and fails unless others could revoke in
/// time.
pub(crate) fn attacks(workspace: &Workspace, backend: &str, arguments: &[String]) -> Outcome {
    let keyward = binaries::keyward_released(workspace)?;
    let programs = binaries::faults(workspace)?;
    let server = DatabaseServer::start(programs.path("test-database")?, &["--database", backend])?;
    run(Command::new(programs.path("attacks")?)
        .args(arguments)
        .current_dir(workspace.root())
        .env(KEYWARD_VARIABLE, keyward)
        .env(URL_VARIABLE, server.url()))
}

/// Runs three servers over one PostgreSQL of its own, under faults, and fails if one of them accepted a key
/// after its revocation was answered.
pub(crate) fn replicas(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let keyward = binaries::keyward_released(workspace)?;
    let programs = binaries::faults(workspace)?;
    run(Command::new(programs.path("replicas")?)
        .args(arguments)
        .current_dir(workspace.root())
        .env(KEYWARD_VARIABLE, keyward))
}
