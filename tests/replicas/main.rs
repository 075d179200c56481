//! Three servers over one PostgreSQL, under faults: whether a key is accepted anywhere after its revocation
//! was answered.
//!
//! `cargo xtask faults replicas` builds the server as it is released and runs this. Everything happens on
//! this machine and ends by itself.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed expectation is a failed run, and figures are for the person who runs it"
)]

mod bounds;
mod clients;
mod cluster;
mod figures;
mod installation;
mod options;
mod pooler;
mod pressure;
mod proxy;
mod replica;
mod scenario;
mod standby;
mod traffic;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use installation::Installation;
use options::Options;

/// The maximum number of similar errors that are printed.
const MAX_PRINTED: usize = 10;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let begin = Instant::now();
    let mut installation = Installation::make().await;
    println!("{:>5.1} s  installed", begin.elapsed().as_secs_f64());
    let mut failed = Vec::new();
    for scenario in options.scenarios {
        let watched = scenario.play(&mut installation).await;
        if let Some(folder) = &options.histories {
            watched.write(&folder.join(scenario.name()));
        }
        let (figures, wrong) = (watched.figures(scenario), watched.wrong(scenario));
        let (name, at) = (scenario.name(), begin.elapsed().as_secs_f64());
        println!("{at:>5.1} s  {name:<20} {figures}");
        wrong
            .iter()
            .take(MAX_PRINTED)
            .for_each(|wrong| println!("         WRONG: {wrong}"));
        if wrong.len() > MAX_PRINTED {
            println!("         and {} more", wrong.len() - MAX_PRINTED);
        }
        if !wrong.is_empty() {
            failed.push(name);
        }
    }
    let took = begin.elapsed().as_secs();
    if failed.is_empty() {
        println!("No server accepted a key after its revocation was answered ({took} s).");
        ExitCode::SUCCESS
    } else {
        println!("Not as it must be ({took} s): {}", failed.join(", "));
        ExitCode::FAILURE
    }
}
