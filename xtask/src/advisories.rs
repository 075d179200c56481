//! RustSec's advisories about dependencies.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::command::{cargo, run};
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// Checks the lock file against RustSec's database: as it is now, else as it was fetched before (`cargo deny`
/// refuses one that is over 90 days old), else not at all, which is printed.
pub(crate) fn check_where_possible(workspace: &Workspace) -> Outcome {
    let fetched = cargo(workspace, &["deny", "fetch", "db"])
        .stdin(Stdio::null())
        .output()
        .map_err(Failure::about("cargo deny fetch db"))?;
    if !fetched.status.success() {
        let reason = String::from_utf8_lossy(&fetched.stderr);
        let reason = reason.trim();
        if !was_fetched_before() {
            eprintln!(
                "SKIPPED, RustSec's database cannot be fetched here. `cargo deny check advisories` checks it where it can.\n{reason}"
            );
            return Ok(());
        }
        eprintln!(
            "RustSec's database cannot be fetched here, and the one that was fetched before is used.\n{reason}"
        );
    }
    run(&mut cargo(
        workspace,
        &["deny", "--offline", "check", "advisories"],
    ))
}

/// Where `cargo deny` keeps databases.
fn was_fetched_before() -> bool {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let databases = home.and_then(|home| fs::read_dir(home.join("advisory-dbs")).ok());
    databases.is_some_and(|entries| entries.flatten().any(|entry| entry.path().join(".git").exists()))
}
