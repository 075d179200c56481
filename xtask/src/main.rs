//! Keyward's task runner: `cargo xtask help`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command speaks on its standard streams"
)]

mod advisories;
mod arguments;
mod bench;
mod binaries;
mod ci;
mod command;
mod database_server;
mod debian;
mod dependency_policy;
mod dev;
mod example_project;
mod failure;
mod faults;
mod generated;
mod image;
mod layers;
mod load;
mod openapi;
mod package;
mod packages;
mod released;
mod schema;
mod services;
mod test;
mod test_names;
mod tools;
mod without_ipv6;
mod workspace;

use std::process::ExitCode;

use arguments::refuse_arguments;
use failure::{Failure, Outcome};
use generated::Mode;
use workspace::Workspace;

const HELP: &str = "\
Keyward's tasks. Usage: cargo xtask TASK [OPTIONS]

  test [--database BACKEND] [ARGUMENTS]
      Runs every test. Installs what is missing (as root on Debian) or says how to; starts one database server for
      the whole run; builds the `keyward` binary alone for the end-to-end tests, unless KEYWARD_BIN names one.
      ARGUMENTS go to `cargo nextest run --workspace`, as a part of a test's name or -E 'package(keyward-domain)';
      with them the documentation's examples and the project in examples/own-store are left out.
  without-ipv6 [ARGUMENTS]
      Runs every test in a network without IPv6 whose hosts file names ::1 for localhost, as many containers have
      it. Needs root on Linux, and what `test` has installed. ARGUMENTS are those of `test`.
  faults attacks [--seconds N] [--attack NAME] [--database postgres|sqlite]
      Attacks the server, built nearly as for a release, while others revoke keys through API, console and command line,
      on both databases; prints how long their answers took, and fails if one was wrong or the 99th percentile was not
      below a second. Four minutes; N seconds for each attack instead of 8.
  faults replicas [--scenario NAME] [--histories FOLDER]
      Runs three servers over one PostgreSQL while servers, network and database fail, with clients that verify and revoke
      keys on all three; prints what they were answered, and fails if a key was accepted after its revocation was
      answered, a valid one refused, or an answer came too late. docs/replicas.md says what may fail when.
  bench [--profile PROFILE] [--seconds N] [--rounds N] [--keys N] [--row NAME] [--json FILE]
      Measures the server and what it could be at best, in turn; prints medians, ratios and goals. Builds the server as
      `package` does, or with a profile of cargo (release, faults). An hour. It never fails because something was slow.
      docs/performance.md has results.
  package
      Builds the server for a release, optimized for what it does under load, and makes a Debian package and a tarball of
      it, in target/package/release. Half an hour.
  image
      Builds the image and the Debian package, nearly as for a release, and runs them as docs/install.md says: alone with a
      volume, by compose.yaml with PostgreSQL, and as a service of systemd. Needs a container engine.
  openapi [--check]
      Writes openapi/v1.json from `keyward openapi`; with --check only compares.
  schema --check
      Compares diesel's tables (crates/persistence: sql/tables.rs and each schema.rs), kept by hand, with those that the
      migrations make.
  layers
      Checks that the domain stays free of input and output, that what is for tests is imported by tests only, and that no
      modules of a crate depend on each other in a circle. (Which crate imports which: `cargo deny check bans`.)
  test-names
      Checks that no test's name has more than ten words.
  ci [--database BACKEND]
      What continuous integration runs: formatting, layers, test names, dependency policy, advisories, clippy,
      documentation, generated files, the project in examples/own-store, every test, the attacks, the image.
  dev [ARGUMENTS]
      Runs `keyward serve ARGUMENTS` on a private PostgreSQL whose data stays in target/dev-postgres.
  help
      Prints this.

BACKEND is what provides PostgreSQL: `auto` (the default: TEST_DATABASE_URL if set, else a container, else
the machine's own PostgreSQL programs), `containers` or `cluster` (that one or fail).
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    match perform(task, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask {task}: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: &str, arguments: &[String]) -> Outcome {
    match task {
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        "test" => test::test(&Workspace::find()?, arguments),
        "bench" => bench::bench(&Workspace::find()?, arguments),
        "faults" => faults::faults(&Workspace::find()?, arguments),
        "without-ipv6" => without_ipv6::without_ipv6(&Workspace::find()?, arguments),
        "package" => {
            refuse_arguments(arguments)?;
            package::package(&Workspace::find()?)
        }
        "image" => {
            refuse_arguments(arguments)?;
            image::image(&Workspace::find()?)
        }
        "openapi" => openapi::openapi(&Workspace::find()?, Mode::parse(arguments)?),
        "schema" => schema::schema(&Workspace::find()?, arguments),
        "layers" => {
            refuse_arguments(arguments)?;
            layers::layers(&Workspace::find()?)
        }
        "test-names" => {
            refuse_arguments(arguments)?;
            test_names::test_names(&Workspace::find()?)
        }
        "ci" => ci::ci(&Workspace::find()?, arguments),
        "dev" => dev::dev(&Workspace::find()?, arguments),
        unknown => Err(Failure::new(format!(
            "there is no task {unknown:?}; `cargo xtask help` lists them"
        ))),
    }
}
