//! The name of this program, and the options for its database, in commands that messages print.

use std::path::Path;
use std::sync::OnceLock;

/// The variable that a wrapper sets to its own name, so that printed commands run through the wrapper, with
/// its user and options.
pub(crate) const VARIABLE: &str = "KEYWARD_COMMAND";

static DATABASE_OPTION: OnceLock<String> = OnceLock::new();

/// The name as it was started, such as `keyward` or, after `cargo run`, `target/debug/keyward`, which is not
/// on the search path.
pub(crate) fn name() -> String {
    let started_as = || std::env::args_os().next();
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    match named.or_else(started_as) {
        Some(name) if !name.is_empty() => name.to_string_lossy().into_owned(),
        Some(_) | None => "keyward".to_owned(),
    }
}

/// Sets the option with which [`command_on_this_database`] leads to the database: [`data_directory_option`] or
/// [`database_url_option`]. A process works with one database.
pub(crate) fn set_database_option(option: String) {
    let _ = DATABASE_OPTION.set(option);
}

/// The option that leads to the database, with a space before it; `None` if a variable has the URL.
pub(crate) fn database_option() -> Option<&'static str> {
    DATABASE_OPTION.get().map(String::as_str)
}

/// The command for a POSIX shell, such as `keyward clean-up --data-dir /var/lib/keyward`. Pasted elsewhere
/// without the option, it would change another database and report success. The URL of a PostgreSQL database
/// is left out if it came from a variable, because it may then have a password.
pub(crate) fn command_on_this_database(command: &str) -> String {
    format!(
        "{} {command}{}",
        quoted(&name()),
        database_option().unwrap_or_default()
    )
}

/// The option with a space before it.
pub(crate) fn data_directory_option(directory: &Path) -> String {
    format!(" --data-dir {}", quoted(&directory.to_string_lossy()))
}

/// The option with a space before it, for a URL that was given by it, and so has no password.
pub(crate) fn database_url_option(url: &str) -> String {
    format!(" --database-url {}", quoted(url))
}

/// One word of a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "%+,-./:=@_".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
