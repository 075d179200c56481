//! The command that prints the setup link of this server: the pages and the log of a server that is not set
//! up name it.

use keyward_domain::public_url::PublicUrl;

use crate::program::{self, quoted};
use crate::storage::Database;

/// The command with the options that this server was given, for a POSIX shell and for the log. The URL of a
/// PostgreSQL database stays out of it.
pub(crate) fn setup_command(database: &Database, public_url: &PublicUrl) -> String {
    let directory = database
        .data_directory()
        .map(|directory| program::data_directory_option(&directory));
    command(&quoted(&program::name()), directory.as_deref(), public_url)
}

/// The command for pages, which anybody may open: it names no path of this machine. A shell refuses the
/// placeholder, so that nobody makes another database by accident.
pub(crate) fn public_setup_command(database: &Database, public_url: &PublicUrl) -> String {
    let directory = match database {
        Database::Sqlite(_) => Some(" --data-dir <data-directory>"),
        Database::Postgres { .. } => None,
    };
    command("keyward", directory, public_url)
}

fn command(program: &str, directory: Option<&str>, public_url: &PublicUrl) -> String {
    let (directory, public_url) = (directory.unwrap_or_default(), quoted(public_url.as_str()));
    format!("{program} admin setup-link{directory} --public-url {public_url}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use keyward_persistence::sqlite::SqliteConfig;

    use super::*;

    fn command_in(directory: &str) -> String {
        let database = Database::Sqlite(SqliteConfig::in_directory(Path::new(directory)));
        let public_url = PublicUrl::parse("https://keys.example.com").unwrap();
        setup_command(&database, &public_url)
    }

    #[test]
    fn command_names_data_directory_and_public_url() {
        let command = command_in("/var/lib/keyward");
        let options = " admin setup-link --data-dir /var/lib/keyward --public-url https://keys.example.com";
        assert!(command.ends_with(options), "{command}");
    }

    #[test]
    fn directory_with_special_characters_is_quoted() {
        let command = command_in("/srv/ada's keys");
        assert!(
            command.contains(r" --data-dir '/srv/ada'\''s keys' "),
            "{command}"
        );
    }
}
