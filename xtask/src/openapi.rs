//! `openapi/v1.json` from the program that serves it.

use std::path::Path;
use std::process::Command;

use crate::binaries;
use crate::command::output;
use crate::failure::Outcome;
use crate::generated::{Mode, settle};
use crate::workspace::Workspace;

const FILE: &str = "openapi/v1.json";

/// `cargo xtask openapi`.
pub(crate) fn openapi(workspace: &Workspace, mode: Mode) -> Outcome {
    settle_document(workspace, &binaries::keyward_alone(workspace)?, mode)
}

/// `cargo xtask openapi --check`, of a program that is built already.
pub(crate) fn check(workspace: &Workspace, keyward: &Path) -> Outcome {
    settle_document(workspace, keyward, Mode::Check)
}

fn settle_document(workspace: &Workspace, keyward: &Path, mode: Mode) -> Outcome {
    let document = output(Command::new(keyward).arg("openapi"))?;
    settle(workspace, FILE, "openapi", &document, mode)
}
