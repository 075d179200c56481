//! Which attacks, on which databases, for how long.

use std::time::Duration;

use crate::attack::Attack;

pub(crate) const USAGE: &str = "\
Usage: attacks [--seconds N] [--attack NAME]… [--database postgres|sqlite]…
Default: every attack on both databases, 8 seconds each.";

/// Long enough for a hundred revocations, short enough for continuous integration.
const DEFAULT_SECONDS: u64 = 8;

pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) attacks: Vec<Attack>,
    pub(crate) databases: Vec<Database>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Database {
    Postgres,
    Sqlite,
}

impl Database {
    const ALL: [Self; 2] = [Self::Postgres, Self::Sqlite];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            time: Duration::from_secs(DEFAULT_SECONDS),
            attacks: Vec::new(),
            databases: Vec::new(),
        };
        while let Some(option) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{option} needs a value"))?;
            match option.as_str() {
                "--seconds" => {
                    let seconds = value.parse().ok().filter(|seconds| (1..=3_600).contains(seconds));
                    let seconds = seconds.ok_or("--seconds takes a whole number from 1 to 3600")?;
                    options.time = Duration::from_secs(seconds);
                }
                "--attack" => {
                    let named = Attack::ALL.into_iter().find(|attack| attack.name() == value);
                    let names = Attack::ALL.map(Attack::name).join(", ");
                    options
                        .attacks
                        .push(named.ok_or_else(|| format!("no attack {value}; there are {names}"))?);
                }
                "--database" => {
                    let named = Database::ALL
                        .into_iter()
                        .find(|database| database.name() == value);
                    options
                        .databases
                        .push(named.ok_or_else(|| format!("no database {value}"))?);
                }
                _ => return Err(format!("unknown option {option}")),
            }
        }
        if options.attacks.is_empty() {
            options.attacks = Attack::ALL.to_vec();
        }
        if options.databases.is_empty() {
            options.databases = Database::ALL.to_vec();
        }
        Ok(options)
    }
}
