//! How fast the server is, beside what it could be at best.

use std::process::Command;

use crate::binaries::{self, KEYWARD_VARIABLE};
use crate::command::run;
use crate::database_server::{DatabaseServer, URL_VARIABLE};
use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// `cargo xtask bench`: builds the server and what it is measured against, and runs the program in
/// `tests/bench`, to which `arguments` go.
pub(crate) fn bench(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (profile, arguments) = take_profile(arguments)?;
    tools::ensure(
        workspace,
        &[tools::POSTGRESQL, tools::PGBENCH, tools::WRK, tools::NGINX],
    )?;
    let (keyward, bare_handler) = binaries::measured(workspace, profile)?;
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

/// Splits a leading `--profile PROFILE` off; the default is what is released.
fn take_profile(arguments: &[String]) -> Outcome<(&str, &[String])> {
    match arguments {
        [option, profile, rest @ ..] if option == "--profile" => Ok((profile, rest)),
        [option] if option == "--profile" => Err(Failure::new("--profile needs a value: release or faults")),
        rest => Ok(("release", rest)),
    }
}
