//! How fast people can revoke while the server is attacked: every attack on both databases, with figures.
//!
//! `cargo xtask faults attacks` builds the server as it is released, starts PostgreSQL and runs this.
//! Everything happens on this machine and ends by itself.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed expectation is a failed run, and figures are for the person who runs it"
)]

mod attack;
mod drill;
mod figures;
mod installation;
mod options;
mod person;
mod target;
mod watch;
mod way;
mod wire;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use installation::Installation;
use options::{Options, name};

/// The 99th percentile of few answers is the slowest one, which the machine may have delayed. So a late
/// result is measured again, until each revoker has revoked a hundred times.
const LONGER: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    raise_open_files();
    let begin = Instant::now();
    let installation = Installation::make().await;
    let mut failed = Vec::new();
    for attack in &options.attacks {
        for database in &options.databases {
            let title = format!("{} on {}", name(attack), name(database));
            let mut figures = drill::play(*attack, *database, &installation, options.time()).await;
            println!("{title}\n{figures}");
            if figures.late() && options.time() < LONGER {
                figures = drill::play(*attack, *database, &installation, LONGER).await;
                println!("{title}, for {} s\n{figures}", LONGER.as_secs());
            }
            if !figures.hold() {
                failed.push(title);
            }
        }
    }
    let took = begin.elapsed().as_secs();
    if failed.is_empty() {
        println!("All revocations were answered correctly and in time, under every attack ({took} s).");
        ExitCode::SUCCESS
    } else {
        println!(
            "Not all revocations were answered correctly and in time ({took} s): {}",
            failed.join(", ")
        );
        ExitCode::FAILURE
    }
}

/// As many connections as the machine allows, for the attackers and for the server that inherits it.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}
