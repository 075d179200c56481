//! Shared by the end-to-end tests and the programs beside them: the binary, its clients, and the checker of histories
//! for `replicas/`.

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

/// A directory for files of tests, beside the running program, which is on the disk of the build.
pub fn directory_of_program() -> PathBuf {
    let program = std::env::current_exe().expect("a program has a path");
    program.parent().expect("a program is in a directory").to_owned()
}
