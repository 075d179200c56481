//! A server to try changes on.

use std::process::Command;

use crate::binaries;
use crate::command::run;
use crate::database_server::DatabaseServer;
use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// Runs `keyward serve` with `arguments` until it ends.
pub(crate) fn dev(workspace: &Workspace, arguments: &[String]) -> Outcome {
    tools::ensure(workspace, &[tools::POSTGRESQL])?;
    let keyward = binaries::keyward_alone(workspace)?;
    let programs = binaries::test_database_tools(workspace)?;
    let data = workspace.target().join("dev-postgres");
    let data = data
        .to_str()
        .ok_or_else(|| Failure::new("the path of the target folder is not UTF-8"))?;
    eprintln!("The database stays in {data}; remove that folder to start afresh.");
    let server = DatabaseServer::start(programs.path("test-database")?, &["--keep", data])?;
    let with_database = |arguments: &[&str]| {
        let mut command = Command::new(&keyward);
        command.args(arguments).env("KEYWARD_DATABASE_URL", server.url());
        command
    };
    run(&mut with_database(&["migrate"]))?;
    run(with_database(&["serve"]).args(arguments))
}
