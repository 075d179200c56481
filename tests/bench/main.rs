//! How fast the server is, beside what it could be at best on the same machine in the same minute.
//!
//! `cargo xtask bench` builds the server and the bare handler alike, starts PostgreSQL and runs this. A time
//! on a shared machine says little; the ratio of two that were measured in turn holds. So nothing here fails
//! because it was slow.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed expectation is a failed run, and figures are for whoever runs it"
)]

mod figures;
mod installation;
mod load;
mod many_keys;
mod options;
mod pairs;
mod polling;
mod process;
mod report;
mod rows;
mod singles;
mod steady;
mod token;

use clap::Parser;
use installation::Installation;
use options::Options;
use pairs::Scene;
use report::Report;
use rows::{PAIRS, SINGLES};

#[tokio::main]
async fn main() {
    let options = Options::parse();
    let pairs = PAIRS
        .iter()
        .filter(|pair| pair.needs_many_keys())
        .map(|pair| pair.name);
    let singles = SINGLES.iter().filter(|single| single.needs_many_keys());
    let mut of_many_keys = pairs.chain(singles.map(|single| single.name));
    let wants_many_keys = of_many_keys.any(|row| options.wants(row));
    let many_keys = wants_many_keys.then_some(options.many_keys);
    let scene = Scene::set(Installation::make(options.keys).await, many_keys).await;
    let mut report = Report::begin(&options);
    for pair in PAIRS.iter().filter(|pair| options.wants(pair.name)) {
        eprintln!("measuring {}", pair.name);
        report.add_pair(pair, &pairs::measure(pair, &scene, &options).await);
    }
    for single in SINGLES.iter().filter(|single| options.wants(single.name)) {
        eprintln!("measuring {}", single.name);
        report.add_single(single, &singles::measure(single, &scene, &options).await);
    }
    println!("{report}");
    if let Some(path) = &options.json {
        std::fs::write(path, report.to_json()).expect("the JSON is written");
    }
}
