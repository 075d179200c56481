//! The variables of the process.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use clap::Command;
use clap::builder::Resettable;

use crate::data_directory;
use crate::database_url;
use crate::program;

const PREFIX: &str = "KEYWARD_";

/// What Kubernetes sets in every container beside a service named `keyward`.
const KUBERNETES_VARIABLES: [&str; 2] = ["KEYWARD_PORT", "KEYWARD_SERVICE_"];

/// What the examples call a client's key and the server that it asks.
const CLIENT_VARIABLES: [&str; 2] = ["KEYWARD_API_KEY", "KEYWARD_URL"];

/// Unties every argument from its variable if that is empty, and keeps the values of variables out of the
/// help.
pub(super) fn with_variables(command: Command) -> Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|argument| match argument.get_env() {
            Some(name) if is_empty(name) => argument.env(Resettable::<clap::builder::OsStr>::Reset),
            Some(_) => argument.hide_env_values(true),
            None => argument,
        })
        .mut_subcommands(with_variables)
}

/// The names among these that look like options of Keyward and are none of the command.
pub(super) fn unknown_variables(command: &Command, names: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let mut known = BTreeSet::from(database_url::VARIABLES.map(OsString::from));
    known.extend([data_directory::VARIABLE, program::VARIABLE].map(OsString::from));
    collect_variables(command, &mut known);
    known.extend(CLIENT_VARIABLES.map(OsString::from));
    let mut unknown: Vec<String> = names
        .into_iter()
        .filter(|name| !known.contains(name))
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(PREFIX))
        .filter(|name| !KUBERNETES_VARIABLES.iter().any(|other| name.starts_with(other)))
        .collect();
    unknown.sort();
    unknown
}

fn collect_variables(command: &Command, known: &mut BTreeSet<OsString>) {
    known.extend(
        command
            .get_arguments()
            .filter_map(|argument| argument.get_env().map(OsStr::to_owned)),
    );
    for subcommand in command.get_subcommands() {
        collect_variables(subcommand, known);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::options::unknown_variables;

    fn unknown(names: &[&str]) -> Vec<String> {
        unknown_variables(names.iter().map(OsString::from))
    }

    #[test]
    fn every_option_has_a_known_variable() {
        let known = [
            "KEYWARD_LISTEN",
            "KEYWARD_PUBLIC_URL",
            "KEYWARD_LOG",
            "KEYWARD_DATABASE_URL",
            "KEYWARD_DATABASE_URL_FILE",
            "KEYWARD_DATA_DIR",
            "PATH",
        ];
        assert_eq!(unknown(&known), Vec::<String>::new());
    }

    #[test]
    fn api_key_variable_for_clients_is_ignored() {
        assert_eq!(unknown(&["KEYWARD_API_KEY", "KEYWARD_URL"]), Vec::<String>::new());
    }

    #[test]
    fn misspelled_variable_is_reported() {
        assert_eq!(
            unknown(&["KEYWARD_LISTENN", "KEYWARD_DATABASE", "OTHER"]),
            ["KEYWARD_DATABASE", "KEYWARD_LISTENN"]
        );
    }

    /// cargo gives a program that it runs what the build script sets.
    #[test]
    fn variables_of_the_build_look_like_no_options() {
        let of_build: Vec<String> = std::env::vars()
            .filter(|(_, value)| value == crate::options::VERSION)
            .map(|(name, _)| name)
            .collect();
        assert_ne!(of_build, Vec::<String>::new(), "cargo does not run this test");
        assert_eq!(
            unknown_variables(of_build.into_iter().map(OsString::from)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn kubernetes_variables_are_ignored() {
        let of_kubernetes = [
            "KEYWARD_PORT",
            "KEYWARD_PORT_8080_TCP_ADDR",
            "KEYWARD_SERVICE_HOST",
            "KEYWARD_SERVICE_PORT",
        ];
        assert_eq!(unknown(&of_kubernetes), Vec::<String>::new());
    }
}
