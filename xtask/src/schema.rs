//! diesel's `schema.rs` from the database that the migrations make.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::binaries;
use crate::command::output;
use crate::failure::{Failure, Outcome};
use crate::generated::{Mode, settle};
use crate::workspace::Workspace;

const FILE: &str = "crates/persistence/src/postgres/schema.rs";

/// Builds what it needs, then [`settle_with`].
pub(crate) fn schema(workspace: &Workspace, mode: Mode) -> Outcome {
    let keyward = binaries::keyward_alone(workspace)?;
    let tools = binaries::test_database_tools(workspace)?;
    settle_with(
        workspace,
        &keyward,
        &mut Command::new(tools.path("print-schema")?),
        mode,
    )
}

/// `print_schema` comes with the environment in which it finds a database server.
pub(crate) fn settle_with(
    workspace: &Workspace,
    keyward: &Path,
    print_schema: &mut Command,
    mode: Mode,
) -> Outcome {
    let printed = output(print_schema.arg(keyward))?;
    settle(workspace, FILE, "schema", &formatted(workspace, &printed)?, mode)
}

/// As `cargo fmt` would leave it, so that neither undoes the other's work.
fn formatted(workspace: &Workspace, source: &str) -> Outcome<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(workspace.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::about("rustfmt"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin
            .write_all(source.as_bytes())
            .map_err(Failure::about("rustfmt"))?;
    }
    let output = child.wait_with_output().map_err(Failure::about("rustfmt"))?;
    if !output.status.success() {
        return Err(Failure::new("rustfmt refused the generated schema"));
    }
    String::from_utf8(output.stdout).map_err(Failure::about("rustfmt"))
}
