//! Compares diesel's tables, which are kept by hand, with those that the migrations make for each database.

use crate::arguments::refuse_arguments;
use crate::binaries;
use crate::command::{cargo, run};
use crate::database_server::{DatabaseServer, URL_VARIABLE};
use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// The tests that compare them, for nextest.
pub(crate) const TESTS: [&str; 2] = ["-E", "package(keyward-persistence) and test(schema_rs_)"];

/// `cargo xtask schema --check`.
pub(crate) fn schema(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "--check") else {
        return Err(Failure::new(
            "diesel's tables are kept by hand; `cargo xtask schema --check` compares them with the migrations",
        ));
    };
    refuse_arguments(rest)?;
    tools::ensure(workspace, &[tools::NEXTEST, tools::POSTGRESQL])?;
    let programs = binaries::test_database_tools(workspace)?;
    let server = DatabaseServer::start(programs.path("test-database")?, &[])?;
    let mut command = cargo(workspace, &["nextest", "run", "--package", "keyward-persistence"]);
    run(command.args(TESTS).env(URL_VARIABLE, server.url()))
}
