//! What the end-to-end tests and the programs beside them share: the binary as its users meet it, and what judges the
//! runs of `replicas/`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

pub mod api;
pub mod console;
pub mod history;
pub mod keyward;
pub mod storage;
pub mod verifiers;

use std::path::PathBuf;

/// A directory for what tests write, on the disk that they were built on: beside the program that runs.
pub fn directory_of_program() -> PathBuf {
    let program = std::env::current_exe().expect("a program has a path");
    program.parent().expect("a program is in a directory").to_owned()
}
