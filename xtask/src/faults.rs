//! What is done to a server that must go on serving, with figures.

use std::process::Command;

use crate::binaries;
use crate::command::run;
use crate::database_server::{DatabaseServer, URL_VARIABLE};
use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// `cargo xtask faults attacks`: plays every attack against the release build on both databases, and fails unless
/// others could revoke in time. `arguments` go to the program in `tests/attacks`.
pub(crate) fn faults(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let Some(("attacks", rest)) = arguments.split_first().map(|(kind, rest)| (kind.as_str(), rest)) else {
        return Err(Failure::new(
            "which faults? `cargo xtask faults attacks` plays attacks",
        ));
    };
    tools::ensure(workspace, &[tools::POSTGRESQL])?;
    attacks(workspace, "auto", rest)
}

/// The same for who has the tools.
pub(crate) fn attacks(workspace: &Workspace, backend: &str, arguments: &[String]) -> Outcome {
    let keyward = binaries::keyward_released(workspace)?;
    let programs = binaries::attacks(workspace)?;
    let server = DatabaseServer::start(programs.path("test-database")?, &["--database", backend])?;
    run(Command::new(programs.path("attacks")?)
        .args(arguments)
        .current_dir(workspace.root())
        .env("KEYWARD_BIN", keyward)
        .env(URL_VARIABLE, server.url()))
}
