//! The image and the Debian package, and what runs them.

use std::process::{Command, Stdio};

use crate::binaries::{self, KEYWARD_VARIABLE};
use crate::command::run;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use crate::{package, tools};

const NO_ENGINE: &str = "no container engine answers (`docker info`)";

/// `cargo xtask image`: builds the image and the package of a program that is built here, and runs them as
/// `docs/install.md` says.
pub(crate) fn image(workspace: &Workspace) -> Outcome {
    if !engine_answers() {
        return Err(Failure::new(NO_ENGINE));
    }
    check(workspace)
}

/// The same for continuous integration: without a container engine, it prints that and succeeds.
pub(crate) fn where_possible(workspace: &Workspace) -> Outcome {
    if engine_answers() {
        return check(workspace);
    }
    eprintln!("SKIPPED, {NO_ENGINE}");
    Ok(())
}

fn check(workspace: &Workspace) -> Outcome {
    if !is_quiet_success(Command::new("docker").args(["compose", "version"])) {
        tools::ensure(workspace, &[tools::COMPOSE])?;
    }
    tools::ensure(workspace, tools::FOR_PACKAGES)?;
    let keyward = binaries::keyward_released(workspace)?;
    let package = package::debian_package(workspace, "faults", &[])?;
    let programs = binaries::image(workspace)?;
    run(Command::new(programs.path("image")?)
        .current_dir(workspace.root())
        .env(KEYWARD_VARIABLE, keyward)
        .env("KEYWARD_PACKAGE", package))
}

fn engine_answers() -> bool {
    is_quiet_success(Command::new("docker").arg("info"))
}

fn is_quiet_success(command: &mut Command) -> bool {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
