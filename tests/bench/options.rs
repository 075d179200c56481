//! What to measure, for how long, and where the figures go.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, builder::PossibleValuesParser, value_parser};

use crate::rows;

/// Measures the server and what it could be at best, in turn.
#[derive(Parser)]
pub(crate) struct Options {
    /// For how long load runs at a time.
    #[arg(long, default_value_t = 4, value_parser = value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// How often each of a pair is measured.
    #[arg(long, default_value = "5")]
    pub(crate) rounds: NonZeroUsize,
    /// How many valid keys are stored, and sent in turn.
    #[arg(long, default_value = "100000")]
    pub(crate) keys: NonZeroUsize,
    /// How many keys are stored where many are.
    #[arg(long, default_value = "1000000")]
    pub(crate) many_keys: NonZeroUsize,
    /// Where to write the figures as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// One of the rows, in place of all; may be given several times.
    #[arg(long = "row", value_name = "NAME", value_parser = PossibleValuesParser::new(rows::names()))]
    rows: Vec<String>,
}

impl Options {
    pub(crate) const fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    pub(crate) fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }
}
