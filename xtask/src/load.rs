//! Puts a server under the load of `tests/bench`.

use std::path::Path;
use std::process::Command;

use crate::binaries::{self, KEYWARD_VARIABLE};
use crate::database_server::{DatabaseServer, URL_VARIABLE};
use crate::failure::Outcome;
use crate::workspace::Workspace;

/// Has `run` run the program in `tests/bench` about `keyward` and the bare handler, with these arguments and a
/// PostgreSQL of its own.
pub(crate) fn under_load(
    workspace: &Workspace,
    keyward: &Path,
    bare_handler: &Path,
    arguments: &[impl AsRef<std::ffi::OsStr>],
    run: fn(&mut Command) -> Outcome,
) -> Outcome {
    let programs = binaries::bench(workspace)?;
    // This machine's own: a container's proxy for ports would be measured with it.
    let server = DatabaseServer::start(programs.path("test-database")?, &["--database", "cluster"])?;
    run(Command::new(programs.path("bench")?)
        .args(arguments)
        .current_dir(workspace.root())
        .env(KEYWARD_VARIABLE, keyward)
        .env("BARE_HANDLER", bare_handler)
        .env(URL_VARIABLE, server.url()))
}
