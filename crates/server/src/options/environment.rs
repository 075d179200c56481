//! The variables of the process.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use crate::data_directory;
use crate::database_url;
use crate::program;

const PREFIX: &str = "KEYWARD_";

/// The variables that Kubernetes sets in every container beside a service named `keyward`.
const KUBERNETES_VARIABLES: [&str; 2] = ["KEYWARD_PORT", "KEYWARD_SERVICE_"];

/// The variables for a client's key and its server in the examples.
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

/// Names the variable whose value is not accepted, which clap does not.
pub(super) fn naming_variable(
    mut complaint: clap::Error,
    command: &Command,
    arguments: &[OsString],
) -> clap::Error {
    let asked = asked_command(command, arguments);
    match complaint.kind() {
        ErrorKind::InvalidUtf8 => match variable_without_text(asked, |name| std::env::var_os(name)) {
            Some(sentence) => clap::Error::raw(complaint.kind(), format!("{sentence}\n")),
            None => complaint,
        },
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            if let Some(name) = variable_with_refused_value(&complaint, asked, arguments) {
                let tip = format!("the value comes from the environment variable {name}");
                let tips = ContextValue::StyledStrs(vec![tip.into()]);
                complaint.insert(ContextKind::Suggested, tips);
            }
            complaint
        }
        _ => complaint,
    }
}

fn asked_command<'a>(command: &'a Command, arguments: &[OsString]) -> &'a Command {
    let mut asked = command;
    for word in arguments.iter().skip(1) {
        match asked.find_subcommand(word) {
            Some(subcommand) => asked = subcommand,
            None => break,
        }
    }
    asked
}

/// The variable of the option whose value was refused, if that is set and the option is not given.
fn variable_with_refused_value<'a>(
    complaint: &clap::Error,
    command: &'a Command,
    arguments: &[OsString],
) -> Option<Cow<'a, str>> {
    let Some(ContextValue::String(refused)) = complaint.get(ContextKind::InvalidArg) else {
        return None;
    };
    let argument = command
        .get_arguments()
        .find(|argument| argument.to_string() == *refused)?;
    let name = argument
        .get_env()
        .filter(|name| std::env::var_os(name).is_some())?;
    let option = format!("--{}", argument.get_long()?);
    let is_given = |given: &OsString| given.to_string_lossy().starts_with(&option);
    (!arguments.iter().any(is_given)).then(|| name.to_string_lossy())
}

fn variable_without_text(command: &Command, variable: impl Fn(&OsStr) -> Option<OsString>) -> Option<String> {
    let is_without_text = |argument: &&Arg| {
        let value = argument.get_env().and_then(&variable);
        let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        !is_path && value.is_some_and(|value| value.to_str().is_none())
    };
    let argument = command.get_arguments().find(is_without_text)?;
    let name = argument.get_env()?.to_string_lossy();
    Some(format!(
        "{name} is not valid UTF-8: give it a value as for {argument}, or unset it"
    ))
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
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStringExt;

    use clap::CommandFactory;

    use super::variable_without_text;
    use crate::options::{CommandLine, unknown_variables};

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

    /// Paths need not be text.
    #[test]
    fn each_variable_without_text_is_named_but_for_paths() {
        let mut command = CommandLine::command();
        command.build();
        let serve = command.find_subcommand("serve").unwrap();
        let mut accepted = Vec::new();
        for argument in serve
            .get_arguments()
            .filter(|argument| argument.get_env().is_some())
        {
            let name = argument.get_env().unwrap();
            let only = |asked: &OsStr| (asked == name).then(|| OsString::from_vec(b"\xff".to_vec()));
            match variable_without_text(serve, only) {
                Some(sentence) => assert!(sentence.starts_with(name.to_str().unwrap()), "{sentence}"),
                None => accepted.push(name.to_str().unwrap()),
            }
        }
        accepted.sort_unstable();
        assert_eq!(
            accepted,
            [
                "KEYWARD_GITHUB_KEYS",
                "KEYWARD_OTLP_HEADERS_FILE",
                "KEYWARD_VERIFIERS"
            ]
        );
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
