//! Which scenarios the command line asks for.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::scenario::Scenario;

/// Runs three servers over one PostgreSQL under faults, and reports whether a key was accepted after its revocation.
#[derive(Parser)]
pub(crate) struct Options {
    /// One of the scenarios, in place of all; may be given several times.
    #[arg(long = "scenario", value_name = "NAME", value_enum, default_values_t = Scenario::value_variants().to_vec())]
    pub(crate) scenarios: Vec<Scenario>,
    /// Where to write every request of each scenario, one a line: when it was sent, what it took (in seconds), server,
    /// key, request, answer.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) histories: Option<PathBuf>,
}
