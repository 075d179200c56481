//! The command that prints the setup link of this server: the pages and the log of a server that is not set
//! up name it.

use keyward_domain::public_url::PublicUrl;

use crate::program::{self, quoted};
use crate::storage::Database;

/// The command with the options that this server was given, for a POSIX shell and for the log. The URL of a
/// PostgreSQL database stays out of it unless it was one of them.
pub(crate) fn setup_command(database: &Database, public_url: &PublicUrl) -> String {
    let option = match database.data_directory() {
        Some(directory) => Some(program::data_directory_option(&directory)),
        None => program::database_option().map(str::to_owned),
    };
    command(&quoted(&program::name()), option.as_deref(), public_url)
}

/// The command for pages that anyone may open: it names no path or host. A shell refuses the placeholder, so
/// the command cannot create another database by accident.
pub(crate) fn public_setup_command(database: &Database, public_url: &PublicUrl) -> String {
    let option = match database {
        Database::Sqlite(_) => Some(" --data-dir <data-directory>"),
        Database::Postgres { .. } => program::database_option().map(|_| " --database-url <database-url>"),
    };
    command("keyward", option, public_url)
}

fn command(program: &str, database: Option<&str>, public_url: &PublicUrl) -> String {
    let (database, public_url) = (database.unwrap_or_default(), quoted(public_url.as_str()));
    format!("{program} admin setup-link{database} --public-url {public_url}")
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
