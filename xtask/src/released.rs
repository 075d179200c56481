//! The program as it is released: optimized by a profile of a load.
//!
//! Profile-guided optimization (the rustc book) builds the program with counters, puts it under load, and
//! builds it again with the counts. Code that ran often becomes faster, all other code smaller.

use std::path::PathBuf;
use std::process::Command;

use crate::binaries;
use crate::command::{cargo, output, run, run_quietly};
use crate::failure::Outcome;
use crate::load::under_load;
use crate::tools;
use crate::workspace::Workspace;

const PROGRAM: &[&str] = &["--", "--locked", "--package", "keyward", "--bin", "keyward"];

/// The usual work of servers: verify keys over both databases, from memory and not, and refuse malformed
/// tokens. Code that does not run here is compiled for size.
const LOAD: &[&str] = &[
    "--rounds=1",
    "--keys=10000",
    "--row=health",
    "--row=user-postgres",
    "--row=user-sqlite",
    "--row=forward-auth",
    "--row=introspection",
    "--row=lookup-postgres",
    "--row=lookup-sqlite",
    "--row=create",
    "--row=malformed",
];

/// Builds it. Takes twice as long as `cargo build --release`, and some minutes.
pub(crate) fn keyward(workspace: &Workspace) -> Outcome<PathBuf> {
    tools::ensure(workspace, tools::FOR_RELEASES)?;
    // Where rustup cannot add it, or is not there, cargo-pgo looks elsewhere, or says what to do.
    let _ = run(Command::new("rustup").args(["component", "add", "llvm-tools"]));
    let built = workspace.target().join(host()?).join("release/keyward");
    run(cargo(workspace, &["pgo", "build"]).args(PROGRAM))?;
    let counting = binaries::copy(&built, &workspace.target().join("keyward-counting"))?;
    let bare_handler = binaries::bare_handler(workspace, "dev")?;
    under_load(workspace, &counting, &bare_handler, LOAD, run_quietly)?;
    run(cargo(workspace, &["pgo", "optimize", "build"]).args(PROGRAM))?;
    Ok(built)
}

/// The target of cargo-pgo's build: this machine.
pub(crate) fn host() -> Outcome<String> {
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    Ok(host.trim().to_owned())
}
