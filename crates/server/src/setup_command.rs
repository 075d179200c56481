//! The command that prints the setup link of this server: the pages and the log of a server that is not set up name it.

use std::path;

use keyward_domain::public_url::PublicUrl;

use crate::storage::Database;

/// The command with the options that this server was given, for a POSIX shell. The URL of a PostgreSQL database stays
/// out of it: anybody who can open a page of the server reads this.
pub(crate) fn setup_command(program: &str, database: &Database, public_url: &PublicUrl) -> String {
    let mut command = format!("{} admin setup-link", quoted(program));
    if let Database::Sqlite(config) = database {
        let directory = &config.data_directory;
        let directory = path::absolute(directory).unwrap_or_else(|_| directory.clone());
        command.push_str(" --data-dir ");
        command.push_str(&quoted(&directory.to_string_lossy()));
    }
    command.push_str(" --public-url ");
    command.push_str(&quoted(public_url.as_str()));
    command
}

/// One word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "%+,-./:=@_".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use keyward_persistence::sqlite::SqliteConfig;

    use super::*;

    fn command_in(directory: &str) -> String {
        let database = Database::Sqlite(SqliteConfig::in_directory(Path::new(directory)));
        let public_url = PublicUrl::parse("https://keys.example.com").unwrap();
        setup_command("keyward", &database, &public_url)
    }

    #[test]
    fn command_names_data_directory_and_public_url() {
        assert_eq!(
            command_in("/var/lib/keyward"),
            "keyward admin setup-link --data-dir /var/lib/keyward --public-url https://keys.example.com"
        );
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
