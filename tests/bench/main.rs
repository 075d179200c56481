//! How fast the server is, compared with the best possible on the same machine in the same minute.
//!
//! `cargo xtask bench` builds the server and the bare handler alike, starts PostgreSQL and runs this. A time
//! on a shared machine says little; the ratio of two that were measured in turn holds. So nothing here fails
//! because it was slow.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed expectation is a failed run, and figures are for the person who runs it"
)]

mod figures;
mod installation;
mod large_organization;
mod load;
mod many_keys;
mod options;
mod pages;
mod pairs;
mod polling;
mod process;
mod report;
mod rows;
mod scene;
mod singles;
mod steady;
mod table;
mod token;

use clap::Parser;
use options::Options;
use report::Report;
use scene::Scene;
use table::PAIRS;

#[tokio::main]
async fn main() {
    let options = Options::parse();
    let scene = Scene::set(&options).await;
    let mut report = Report::begin(&options);
    for pair in PAIRS.iter().filter(|pair| options.wants(pair.name)) {
        eprintln!("measuring {}", pair.name);
        report.add_pair(pair, &pairs::measure(pair, &scene, &options).await);
    }
    for single in table::singles().filter(|single| options.wants(single.name)) {
        eprintln!("measuring {}", single.name);
        report.add_single(single, &singles::measure(single, &scene, &options).await);
    }
    println!("{report}");
    if let Some(path) = &options.json {
        std::fs::write(path, report.to_json()).expect("the JSON is written");
    }
}
