//! Starts one PostgreSQL server for a whole test run: prints its URL as one line, and ends it when standard
//! input closes, which also happens when the parent process is killed.
//!
//! Ask it for `--help`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command speaks on its standard streams"
)]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use keyward_test_database::{BackendChoice, Server};

const HELP: &str = "\
Starts a PostgreSQL server for tests, prints its URL, and ends it when standard input closes.

Usage: test-database [--database auto|containers|cluster | --keep FOLDER]

  --database auto        TEST_DATABASE_URL, else a container, else a private cluster (the default)
  --database containers  a container, or fail
  --database cluster     a private cluster, or fail
  --keep FOLDER          a private cluster whose data stays in FOLDER and is found there again
";

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Help,
    Start(BackendChoice),
    StartKept(PathBuf),
}

impl Request {
    fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = arguments.into_iter();
        let (mut choice, mut folder) = (None, None);
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("{argument} needs a value"))
            };
            match argument.as_str() {
                "--help" | "-h" => return Ok(Self::Help),
                "--database" => choice = Some(value()?.parse()?),
                "--keep" => folder = Some(value()?.into()),
                other => return Err(format!("unknown argument {other:?}")),
            }
        }
        match (choice, folder) {
            (Some(_), Some(_)) => Err("--database and --keep exclude each other".to_owned()),
            (None, Some(folder)) => Ok(Self::StartKept(folder)),
            (choice, None) => Ok(Self::Start(choice.unwrap_or_default())),
        }
    }
}

fn main() -> ExitCode {
    let started = match Request::parse(std::env::args().skip(1)) {
        Ok(Request::Help) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(Request::Start(choice)) => Server::start(choice),
        Ok(Request::StartKept(folder)) => Server::start_kept(&folder, &[]),
        Err(message) => {
            eprintln!("test-database: {message}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match started {
        Ok(server) => serve(&server),
        Err(error) => {
            eprintln!("test-database: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(server: &Server) -> ExitCode {
    for (backend, obstacle) in server.obstacles() {
        eprintln!("test-database: {backend} is not available: {obstacle}");
    }
    eprintln!("test-database: using {}", server.backend());
    let mut stdout = std::io::stdout();
    if writeln!(stdout, "{}", server.url().maintenance())
        .and_then(|()| stdout.flush())
        .is_err()
    {
        return ExitCode::FAILURE;
    }
    // Closed or failed: the caller has ended.
    let _ = std::io::copy(&mut std::io::stdin().lock().by_ref(), &mut std::io::sink());
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Request, String> {
        Request::parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn backend_can_be_chosen() {
        assert_eq!(parse(&[]), Ok(Request::Start(BackendChoice::Auto)));
        assert_eq!(
            parse(&["--database", "containers"]),
            Ok(Request::Start(BackendChoice::Containers))
        );
        assert_eq!(parse(&["--keep", "here"]), Ok(Request::StartKept("here".into())));
    }

    #[test]
    fn backend_cannot_be_chosen_for_a_kept_cluster() {
        for arguments in [
            ["--keep", "here", "--database", "auto"],
            ["--database", "cluster", "--keep", "here"],
        ] {
            assert!(parse(&arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn unknown_argument_is_rejected() {
        for arguments in [&["--database", "sea"][..], &["--database"], &["--keep"], &["now"]] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
