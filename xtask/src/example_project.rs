//! The project in `examples/own-store`, which embeds the domain as another team would: no member of this
//! workspace.

use std::process::Command;

use crate::command::{cargo, run};
use crate::dependency_policy::DEPENDENCY_POLICY;
use crate::failure::Outcome;
use crate::workspace::Workspace;

const FOLDER: &str = "examples/own-store";

pub(crate) fn check_formatting(workspace: &Workspace) -> Outcome {
    run(&mut in_project(workspace, &["fmt", "--check"]))
}

/// Its dependencies, its lints, and all that [`test()`] does.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    // For every platform, as the dependency policy looks at them without the network.
    run(&mut in_project(workspace, &["fetch", "--locked"]))?;
    run(&mut in_project(workspace, DEPENDENCY_POLICY))?;
    run(&mut in_project(
        workspace,
        &["clippy", "--locked", "--all-targets", "--", "-D", "warnings"],
    ))?;
    test(workspace)
}

/// Its own tests, the conformance suite among them; then the program itself, which fails if a dead key is let
/// in.
pub(crate) fn test(workspace: &Workspace) -> Outcome {
    run(&mut in_project(workspace, &["test", "--locked", "--quiet"]))?;
    run(&mut in_project(workspace, &["run", "--locked", "--quiet"]))
}

/// Cargo in that folder. It builds as this workspace does and beside it, so that dependencies which both have
/// are compiled once.
fn in_project(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = cargo(workspace, arguments);
    command
        .current_dir(workspace.root().join(FOLDER))
        .env("CARGO_TARGET_DIR", workspace.target())
        .env("CARGO_PROFILE_DEV_BUILD_OVERRIDE_DEBUG", "line-tables-only");
    command
}
