//! Every test, with everything that they need.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::binaries;
use crate::command::{cargo, run};
use crate::database_server::{DatabaseServer, URL_VARIABLE};
use crate::example_project;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::tools;
use crate::workspace::Workspace;

/// `cargo xtask test`.
pub(crate) fn test(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (road, nextest_arguments) = take_road(arguments)?;
    tools::ensure(workspace, tools::FOR_TESTS)?;
    let run = TestRun::prepare(workspace, &road)?;
    if nextest_arguments.is_empty() {
        run.documentation_tests()?;
        example_project::test(workspace)?;
    }
    run.tests(nextest_arguments)
}

/// Splits a leading `--road ROAD` off; the default is `auto`. The program `test-database` knows the roads.
pub(crate) fn take_road(arguments: &[String]) -> Outcome<(String, &[String])> {
    match arguments {
        [option, road, rest @ ..] if option == "--road" => Ok((road.clone(), rest)),
        [option] if option == "--road" => {
            Err(Failure::new("--road needs a value: auto, containers or cluster"))
        }
        rest => Ok(("auto".to_owned(), rest)),
    }
}

/// The built tests, the program they are about and the server they share.
pub(crate) struct TestRun<'workspace> {
    workspace: &'workspace Workspace,
    keyward: PathBuf,
    packages: PathBuf,
    server: DatabaseServer,
}

impl<'workspace> TestRun<'workspace> {
    /// Builds everything, installs what tests run of others, and starts the server.
    pub(crate) fn prepare(workspace: &'workspace Workspace, road: &str) -> Outcome<Self> {
        let keyward = binaries::keyward_alone(workspace)?;
        let binaries = binaries::tests(workspace)?;
        let packages = packages::ensure(workspace)?;
        let server = DatabaseServer::start(binaries.path("test-database")?, &["--road", road])?;
        Ok(Self {
            workspace,
            keyward,
            packages,
            server,
        })
    }

    pub(crate) fn documentation_tests(&self) -> Outcome {
        run(cargo(self.workspace, &["test", "--doc", "--workspace"]).env(URL_VARIABLE, self.server.url()))
    }

    pub(crate) fn tests(&self, arguments: &[impl AsRef<OsStr>]) -> Outcome {
        let mut command = cargo(self.workspace, &["nextest", "run", "--workspace"]);
        command
            .args(arguments)
            .env(URL_VARIABLE, self.server.url())
            .env("KEYWARD_BIN", &self.keyward)
            .env(packages::FOLDER_VARIABLE, &self.packages);
        run(&mut command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_road_is_ours_and_the_rest_is_for_nextest() {
        let arguments = words("--road cluster --no-capture revoked");
        assert_eq!(
            take_road(&arguments).unwrap(),
            ("cluster".to_owned(), &words("--no-capture revoked")[..])
        );
        assert_eq!(
            take_road(&words("revoked")).unwrap(),
            ("auto".to_owned(), &words("revoked")[..])
        );
        assert!(take_road(&words("--road")).is_err());
    }
}
