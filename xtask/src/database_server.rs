//! The one database server of a test run, kept by the program `test-database`.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::failure::{Failure, Outcome};

/// The variable through which every test finds the server.
pub(crate) const URL_VARIABLE: &str = "TEST_DATABASE_URL";

/// A running server; it ends when this is dropped, and when this process is killed.
pub(crate) struct DatabaseServer {
    child: Child,
    url: String,
}

impl DatabaseServer {
    /// Starts `program` with its arguments and waits for the URL that it prints.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Outcome<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for the tests: the server ends after them, when its input closes.
            .process_group(0)
            .spawn()
            .map_err(Failure::about(program.display()))?;
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut url)
                .map_err(Failure::about(program.display()))?;
        }
        let server = Self {
            child,
            url: url.trim().to_owned(),
        };
        if server.url.is_empty() {
            return Err(Failure::new(
                "no database server for the tests; what it takes is said above",
            ));
        }
        Ok(server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if let Err(error) = self.child.wait() {
            eprintln!("xtask: the database server may still run: {error}");
        }
    }
}
