//! `openapi/v1.json` from the program that serves it.

use crate::command::{cargo, output};
use crate::failure::Outcome;
use crate::generated::{Mode, settle};
use crate::workspace::Workspace;

const FILE: &str = "openapi/v1.json";

pub(crate) fn openapi(workspace: &Workspace, mode: Mode) -> Outcome {
    let document = output(&mut cargo(
        workspace,
        &["run", "--quiet", "--package", "keyward", "--", "openapi"],
    ))?;
    settle(workspace, FILE, "openapi", &document, mode)
}
