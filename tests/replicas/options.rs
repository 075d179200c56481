//! Which scenarios the command line asks for.

use std::path::PathBuf;

use crate::scenario::Scenario;

pub(crate) const USAGE: &str = "\
Usage: replicas [--scenario NAME]… [--histories FOLDER]
Default: every scenario. With a folder, every request of each is written there, one a line: when it was sent, what it took
(in seconds), server, key, what was asked, what was answered.";

#[derive(Default)]
pub(crate) struct Options {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) histories: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(option) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{option} needs a value"))?;
            match option.as_str() {
                "--scenario" => {
                    let named = Scenario::ALL
                        .into_iter()
                        .find(|scenario| scenario.name() == value);
                    let names = Scenario::ALL.map(Scenario::name).join(", ");
                    options
                        .scenarios
                        .push(named.ok_or_else(|| format!("no scenario {value}; there are {names}"))?);
                }
                "--histories" => options.histories = Some(value.into()),
                _ => return Err(format!("unknown option {option}")),
            }
        }
        if options.scenarios.is_empty() {
            options.scenarios = Scenario::ALL.to_vec();
        }
        Ok(options)
    }
}
