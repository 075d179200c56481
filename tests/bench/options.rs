//! What to measure, for how long, and where the figures go.

use std::path::PathBuf;
use std::time::Duration;

pub(crate) const USAGE: &str = "\
Usage: bench [--seconds N] [--rounds N] [--keys N] [--many-keys N] [--row NAME]… [--json FILE]
Default: every row in 5 rounds of 4 seconds each way, with 100,000 keys stored, and 1,000,000 for the row of many keys.";

pub(crate) struct Options {
    /// How long load runs at a time.
    pub(crate) time: Duration,
    /// How often each of a pair is measured.
    pub(crate) rounds: usize,
    /// How many valid keys are stored, and sent in turn.
    pub(crate) keys: usize,
    /// How many keys are stored where many are.
    pub(crate) many_keys: usize,
    pub(crate) json: Option<PathBuf>,
    rows: Vec<String>,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            time: Duration::from_secs(4),
            rounds: 5,
            keys: 100_000,
            many_keys: 1_000_000,
            json: None,
            rows: Vec::new(),
        };
        while let Some(option) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{option} needs a value"))?;
            let number = |most: usize| {
                let number = value.parse().ok().filter(|number| (1..=most).contains(number));
                number.ok_or_else(|| format!("{option} takes a whole number from 1 to {most}"))
            };
            match option.as_str() {
                "--seconds" => options.time = Duration::from_secs(number(60)? as u64),
                "--rounds" => options.rounds = number(1_000)?,
                "--keys" => options.keys = number(10_000_000)?,
                "--many-keys" => options.many_keys = number(100_000_000)?,
                "--json" => options.json = Some(value.into()),
                "--row" if crate::rows::names().any(|name| name == value) => options.rows.push(value),
                "--row" => {
                    let names: Vec<_> = crate::rows::names().collect();
                    return Err(format!("no row {value}; there are {}", names.join(", ")));
                }
                _ => return Err(format!("unknown option {option}")),
            }
        }
        Ok(options)
    }

    pub(crate) fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }
}
