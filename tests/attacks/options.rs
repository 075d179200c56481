//! Which attacks, on which databases, for how long.

use std::time::Duration;

use clap::{Parser, ValueEnum, value_parser};

use crate::attack::Attack;

/// Attacks a server while others revoke keys, and prints how long their answers took.
#[derive(Parser)]
pub(crate) struct Options {
    /// The duration of each attack: long enough for a hundred revocations, short enough for continuous
    /// integration.
    #[arg(long, default_value_t = 8, value_parser = value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// One of the attacks, in place of all; may be given several times.
    #[arg(long = "attack", value_name = "NAME", value_enum, default_values_t = Attack::value_variants().to_vec())]
    pub(crate) attacks: Vec<Attack>,
    /// One of the databases, in place of both.
    #[arg(long = "database", value_enum, default_values_t = Database::value_variants().to_vec())]
    pub(crate) databases: Vec<Database>,
}

impl Options {
    pub(crate) const fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Database {
    Postgres,
    Sqlite,
}

/// How the command line names an attack or a database.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    let named = value.to_possible_value().expect("every value can be given");
    named.get_name().to_owned()
}
