//! What a sentence that says what to type calls this program, and the options that lead to its database.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The variable that a wrapper sets to its own name: whoever types the name of the program instead runs it
/// without the wrapper's user and options.
pub(crate) const VARIABLE: &str = "KEYWARD_COMMAND";

static DATA_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// Such as `keyward` or, after `cargo run`, `target/debug/keyward`, which is not on the search path: as it was
/// started.
pub(crate) fn name() -> String {
    let started_as = || std::env::args_os().next();
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    match named.or_else(started_as) {
        Some(name) if !name.is_empty() => name.to_string_lossy().into_owned(),
        Some(_) | None => "keyward".to_owned(),
    }
}

/// Sets the absolute data directory that [`command_on_this_database`] names. A process works with one.
pub(crate) fn set_data_directory(directory: PathBuf) {
    let _ = DATA_DIRECTORY.set(directory);
}

/// The command for a POSIX shell, such as `keyward clean-up --data-dir /var/lib/keyward`. Pasted elsewhere
/// without the option, it would change another database and report success. The URL of a PostgreSQL database
/// stays out of it, because it may have a password.
pub(crate) fn command_on_this_database(command: &str) -> String {
    let directory = DATA_DIRECTORY
        .get()
        .map(|directory| data_directory_option(directory));
    format!("{} {command}{}", quoted(&name()), directory.unwrap_or_default())
}

/// The option with a space before it.
pub(crate) fn data_directory_option(directory: &Path) -> String {
    format!(" --data-dir {}", quoted(&directory.to_string_lossy()))
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
