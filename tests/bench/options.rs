//! Options: the rows to measure, for how long, and where the figures are written.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};

use crate::table;

/// Measures the server and the best possible, in turn.
#[derive(Parser)]
pub(crate) struct Options {
    /// For how long load runs at a time.
    #[arg(long, default_value_t = 4, value_parser = up_to(60))]
    seconds: usize,
    /// How often each of a pair is measured.
    #[arg(long, default_value_t = 5, value_parser = up_to(1_000))]
    pub(crate) rounds: usize,
    /// How many valid keys are stored, and sent in turn.
    #[arg(long, default_value_t = 100_000, value_parser = up_to(10_000_000))]
    pub(crate) keys: usize,
    /// How many keys are stored where many are.
    #[arg(long, default_value_t = 1_000_000, value_parser = up_to(100_000_000))]
    pub(crate) many_keys: usize,
    /// How many events of the audit log are stored there.
    #[arg(long, default_value_t = 1_000_000, value_parser = up_to(100_000_000))]
    pub(crate) events: usize,
    /// Where to write the figures as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// One of the rows, in place of all; may be given several times.
    #[arg(long = "row", value_name = "NAME", value_parser = PossibleValuesParser::new(table::names()))]
    rows: Vec<String>,
}

impl Options {
    pub(crate) const fn time(&self) -> Duration {
        Duration::from_secs(self.seconds as u64)
    }

    pub(crate) fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }
}

fn up_to(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}
