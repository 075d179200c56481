//! Every test, with everything that they need.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use crate::binaries::{self, KEYWARD_VARIABLE};
use crate::command::{cargo, run};
use crate::database_server::{DatabaseServer, URL_VARIABLE};
use crate::example_project;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::tools;
use crate::workspace::Workspace;

/// `cargo xtask test`.
pub(crate) fn test(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (backend, nextest_arguments) = take_backend(arguments)?;
    if !packages::folder(workspace).exists() {
        eprintln!("the first run builds everything: 12 GB in target/, some 40 minutes on two busy cores");
    }
    tools::ensure(workspace, tools::FOR_TESTS)?;
    let keyward = match env::var_os(KEYWARD_VARIABLE) {
        Some(path) => {
            let keyward = fs::canonicalize(&path).map_err(Failure::about(KEYWARD_VARIABLE))?;
            eprintln!("testing {}, which {KEYWARD_VARIABLE} names", keyward.display());
            keyward
        }
        None => binaries::keyward_alone(workspace)?,
    };
    let run = TestRun::prepare(workspace, keyward, &backend)?;
    if nextest_arguments.is_empty() {
        run.documentation_tests()?;
        example_project::test(workspace)?;
    }
    run.tests(nextest_arguments)
}

/// Splits a leading `--database BACKEND` off; the default is `auto`. The program `test-database` knows the
/// backends.
pub(crate) fn take_backend(arguments: &[String]) -> Outcome<(String, &[String])> {
    match arguments {
        [option, backend, rest @ ..] if option == "--database" => Ok((backend.clone(), rest)),
        [option] if option == "--database" => Err(Failure::new(
            "--database needs a value: auto, containers or cluster",
        )),
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
    /// Builds everything but `keyward`, installs what tests run of others, and starts the server.
    pub(crate) fn prepare(
        workspace: &'workspace Workspace,
        keyward: PathBuf,
        backend: &str,
    ) -> Outcome<Self> {
        let binaries = binaries::tests(workspace)?;
        let packages = packages::ensure(workspace)?;
        let server = DatabaseServer::start(binaries.path("test-database")?, &["--database", backend])?;
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
            .env(KEYWARD_VARIABLE, &self.keyward)
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
    fn leading_database_option_is_split_from_nextests() {
        let arguments = words("--database cluster --no-capture revoked");
        assert_eq!(
            take_backend(&arguments).unwrap(),
            ("cluster".to_owned(), &words("--no-capture revoked")[..])
        );
        assert_eq!(
            take_backend(&words("revoked")).unwrap(),
            ("auto".to_owned(), &words("revoked")[..])
        );
        assert!(take_backend(&words("--database")).is_err());
    }
}
