//! The command line: what can be asked, and by which flag or variable.
//!
//! Each option has a flag and, where it makes sense, a variable `KEYWARD_…`; the flag wins. The options that
//! say where the database is have no clap variable, see [`crate::database_url`] and
//! [`crate::data_directory`]. An empty variable counts as unset, since Compose files and unit files pass such
//! on.

mod admin;
mod audit_log;
mod environment;
mod rate_limits;
mod retention;
mod serve;
mod storage;
mod traces;
mod verifier;

use std::error::Error;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command as ClapCommand, CommandFactory, FromArgMatches, Parser, Subcommand};
use keyward_domain::id::InvalidId;
use keyward_domain::organization::InvalidSlug;
use keyward_domain::text::TextError;
use keyward_domain::token;
use keyward_domain::user::InvalidUsername;
use keyward_domain::verifier::InvalidVerifierName;

pub(crate) use admin::{
    AdminCommand, BootstrapOptions, CreateOrganizationOptions, CreateUserOptions, PasswordOptions,
    RemoveMemberOptions, RepeatRevocationsOptions, ResetPasswordOptions, RevokeOptions, SetupLinkOptions,
    WhichKeys,
};
pub(crate) use audit_log::AuditLogOptions;
pub(crate) use retention::CleanUpOptions;
pub(crate) use serve::{HealthcheckOptions, LimitOptions, ProxyOptions, ServeOptions, Switch};
pub(crate) use storage::{DatabaseOptions, LoggingOptions, StorageOptions};
pub(crate) use verifier::{CreateVerifierOptions, VerifierCommand};

/// The version, with the commit it was built from where that is known (see `build.rs`).
const VERSION: &str = env!("VERSION_WITH_COMMIT");

/// Issues, verifies and revokes personal API keys for the members of an organization.
///
/// Without a command, `keyward` serves. `keyward help serve` lists the options for that.
#[derive(Debug, Parser)]
#[command(
    name = "keyward",
    version = VERSION,
    subcommand_required = true,
    arg_required_else_help = false,
    override_usage = "keyward [COMMAND] [OPTIONS]",
    after_help = "An option marked [env: …] can be set by that variable instead. The flag wins, and an empty variable counts \
                  as unset. No flag takes a secret.\n\nExit status: 0 on success; 1 on failure, with the reason and what to \
                  do on standard error; 2 if a command, an option or a value is not valid."
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands of `keyward`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the HTTP API and the console (what `keyward` alone does)
    ///
    /// Waits up to 5 seconds for the database, brings it up to date, and serves until SIGTERM, SIGINT or SIGHUP; then
    /// it finishes the requests in flight and ends. Another signal ends it at once, unless it comes within a second.
    Serve(Box<ServeOptions>),
    /// Bring the database up to date
    ///
    /// Applies the migrations that are missing, and does nothing if there are none. `serve` does so when it
    /// starts; no other command changes the tables of an older version.
    Migrate(StorageOptions),
    /// Write all data of the installation to standard output
    ///
    /// A consistent snapshot in JSON Lines for `keyward import`, of the embedded database or of PostgreSQL. A
    /// server may run meanwhile; to move to another database, stop it first, because its later changes are
    /// not in the snapshot. The export contains password hashes and digests of tokens (no token, no
    /// password): protect it like the database.
    Export(StorageOptions),
    /// Read what `keyward export` wrote from standard input, into an empty database
    ///
    /// Imports everything or nothing. Refuses an export that is incomplete, altered or from another version,
    /// a database that is not empty, and a data directory that a server uses. Uses the role of
    /// KEYWARD_MIGRATION_DATABASE_URL, if that is set, which owns the tables. Tokens, passwords and sessions
    /// stay valid.
    Import(StorageOptions),
    /// Remove records past their retention period, once
    ///
    /// `keyward serve` does this every hour, with the same options. Run it for a database without a server,
    /// and for one whose server may only add audit events: it then uses the role of
    /// KEYWARD_MIGRATION_DATABASE_URL, which owns the tables. A server may run meanwhile.
    CleanUp(CleanUpOptions),
    /// Check that the server on this machine runs
    ///
    /// Asks its `/healthz`, and exits with 1 unless it answers within seconds. For the health check of a
    /// container.
    Healthcheck(HealthcheckOptions),
    /// List the servers that keep verifications in memory
    ///
    /// One line for each, with the number of the last change that it has seen and how many it has yet to see. A server
    /// that died stays in the list until the next revocation, which waits 5 seconds for it.
    Replicas(StorageOptions),
    /// Print the OpenAPI document of the HTTP API
    Openapi,
    /// Work with tokens offline
    #[command(subcommand)]
    Token(TokenCommand),
    /// Make credentials for services that introspect tokens
    #[command(subcommand)]
    Verifier(VerifierCommand),
    /// Administer the installation
    ///
    /// No key can be created here: the first key of a user is created in the console.
    #[command(subcommand)]
    Admin(AdminCommand),
}

impl Command {
    /// Whether it changes something or reports success, and its standard output cannot be printed again.
    pub(crate) const fn answers_once(&self) -> bool {
        match self {
            Self::Export(_) | Self::Verifier(VerifierCommand::Create(_)) => true,
            Self::Admin(command) => command.answers_once(),
            Self::Openapi
            | Self::Replicas(_)
            | Self::Serve(_)
            | Self::Migrate(_)
            | Self::Import(_)
            | Self::CleanUp(_)
            | Self::Token(_)
            | Self::Healthcheck(_) => false,
        }
    }
}

/// The subcommands of `keyward token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Check whether standard input has the form of a token
    ///
    /// Reads one line, and checks its form and checksum offline, without printing the token. The exit code is
    /// 0 if they are valid, else 1.
    Check,
}

impl CommandLine {
    /// Reads the arguments of the process, its name first, and its variables.
    ///
    /// # Errors
    /// The arguments are invalid, or ask for help or the version, which clap returns as errors.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let arguments = with_default_command(arguments);
        let mut command = Self::clap_command();
        let matches = command
            .try_get_matches_from_mut(&arguments)
            .map_err(|complaint| environment::naming_variable(complaint, &command, &arguments))
            .map_err(without_secrets)?;
        Self::from_arg_matches(&matches)
    }

    fn clap_command() -> ClapCommand {
        environment::with_variables(Self::command())
    }
}

/// The names among these that look like options of Keyward and are none: most likely misspelt.
pub(crate) fn unknown_variables(names: impl IntoIterator<Item = OsString>) -> Vec<String> {
    environment::unknown_variables(&CommandLine::command(), names)
}

/// `keyward` alone, or with options that are not its own, is `keyward serve`.
fn with_default_command(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_complete = match arguments.get(1).and_then(|first| first.to_str()) {
        Some("-h" | "--help" | "-V" | "--version") => true,
        Some(first) => !first.starts_with('-'),
        None => arguments.len() > 1,
    };
    if !is_complete {
        arguments.insert(arguments.len().min(1), OsString::from("serve"));
    }
    arguments
}

/// Removes possible secrets from an error message, because it ends up in logs: an argument that is neither a flag nor
/// could be a command may be a token or password in the wrong place, and so may a value with a token's prefix or a
/// URL's password. The message still says why the value is refused, if that reason cannot repeat the value.
fn without_secrets(mut complaint: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(value)) = complaint.get(ContextKind::InvalidValue)
        && (value.contains(token::PREFIX) || value.contains('@'))
    {
        let masked = ContextValue::String("…".to_owned());
        if complaint.source().is_some_and(is_without_value) {
            complaint.insert(ContextKind::InvalidValue, masked);
            return complaint;
        }
        // Another complaint, since why the value is refused may repeat it, too.
        let mut silent = clap::Error::new(complaint.kind()).with_cmd(&CommandLine::command());
        for (kind, value) in complaint.context() {
            silent.insert(kind, value.clone());
        }
        silent.insert(ContextKind::InvalidValue, masked);
        return silent;
    }
    // An argument without a flag is named by its place, such as `<NAME>`.
    let is_known = complaint.kind() != ErrorKind::UnknownArgument;
    let could_be_ours = |word: &str| {
        word.starts_with('-')
            || (is_known && word.starts_with('<'))
            || word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidSubcommand] {
        if let Some(ContextValue::String(word)) = complaint.get(kind)
            && !could_be_ours(word)
        {
            complaint.insert(kind, ContextValue::String("…".to_owned()));
        }
    }
    complaint
}

/// Whether the type of a reason rules out that it repeats the refused value. Strings and the errors of other
/// crates' parsers may repeat it.
fn is_without_value(reason: &(dyn Error + 'static)) -> bool {
    /// A `Copy` error owns no text, so it cannot contain the refused value.
    fn is<T: Error + Copy + 'static>(reason: &(dyn Error + 'static)) -> bool {
        reason.is::<T>()
    }
    is::<TextError>(reason)
        || is::<InvalidUsername>(reason)
        || is::<InvalidSlug>(reason)
        || is::<InvalidId>(reason)
        || is::<InvalidVerifierName>(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<CommandLine, clap::Error> {
        let process = ["keyward"].iter().chain(arguments);
        CommandLine::read(process.map(OsString::from))
    }

    #[test]
    fn command_line_definition_is_valid() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn command_without_arguments_serves() {
        for arguments in [&[][..], &["--listen", "127.0.0.1:0"], &["serve"]] {
            let read = read(arguments).unwrap();
            assert!(matches!(read.command, Command::Serve(_)), "{arguments:?}");
        }
    }

    #[test]
    fn debug_output_hides_the_database_url() {
        let read = read(&["migrate", "--database-url", "postgres://me:s3cret@host/db"]).unwrap();
        assert!(!format!("{read:?}").contains("s3cret"));
    }

    #[test]
    fn refused_value_is_reported_with_its_place() {
        let error = read(&["verifier", "create", "a b"]).unwrap_err().to_string();
        assert!(error.contains("invalid value 'a b' for '<NAME>'"), "{error}");
        let error = read(&["token", "check", "<misplaced>"]).unwrap_err().to_string();
        assert!(!error.contains("misplaced"), "{error}");
    }

    #[test]
    fn misplaced_secret_is_not_repeated() {
        for secret in [
            "kwp_000000000000000000000000000000002wjyrI",
            "postgres://me:s3cret@host/db",
        ] {
            for command in [&["token", "check"][..], &["serve"], &["admin"], &[]] {
                let arguments: Vec<&str> = command.iter().copied().chain([secret]).collect();
                let complaint = read(&arguments).unwrap_err().to_string();
                assert!(!complaint.contains(secret), "{complaint}");
            }
        }
    }

    #[test]
    fn secret_as_an_option_value_is_not_repeated() {
        for secret in [
            "kwp_000000000000000000000000000000002wjyrI",
            "postgres://me:s3cret@host/db",
        ] {
            let revoke = ["admin", "revoke", "--key"];
            for command in [
                &["serve", "--listen"][..],
                &["serve", "--trusted-proxy"],
                &["serve", "--log-level"],
                &["serve", "--log-format"],
                &revoke,
            ] {
                let arguments: Vec<&str> = command.iter().copied().chain([secret]).collect();
                let complaint = read(&arguments).unwrap_err().to_string();
                assert!(!complaint.contains(secret), "{complaint}");
                assert!(complaint.contains(command.last().unwrap()), "{complaint}");
            }
        }
        let complaint = read(&["serve", "--listen", "nowhere"]).unwrap_err().to_string();
        assert!(complaint.contains("nowhere"), "{complaint}");
    }

    #[test]
    fn masked_value_is_refused_with_the_domain_reason() {
        const TOKEN: &str = "kwp_000000000000000000000000000000002wjyrI";
        let with_token = format!("leaked {TOKEN}");
        let long = format!("bob@example.com {}", "x".repeat(2_000));
        for (arguments, value, reason) in [
            (
                &["admin", "create-user", "--username"][..],
                "bob@example.com",
                "must be 1 to 39",
            ),
            (
                &["admin", "create-user", "--display-name"],
                &with_token,
                "must not contain an API key",
            ),
            (
                &["admin", "create-user", "--display-name"],
                &long,
                "must be at most 100 characters",
            ),
            (
                &["admin", "create-organization", "--name"],
                &with_token,
                "must not contain an API key",
            ),
            (
                &["admin", "create-organization", "--owner"],
                "bob@example.com",
                "must be 1 to 39",
            ),
            (
                &["admin", "revoke", "--reason"],
                &with_token,
                "must not contain an API key",
            ),
            (&["admin", "revoke", "--reason"], &long, "must be at most "),
            (&["admin", "revoke", "--key"], TOKEN, "expected a hyphenated UUID"),
            (
                &["admin", "remove-member", "--organization"],
                "acme@example.com",
                "not a slug",
            ),
            (&["verifier", "create"], "bob@example.com", "must be "),
        ] {
            let arguments: Vec<&str> = arguments.iter().copied().chain([value]).collect();
            let complaint = read(&arguments).unwrap_err().to_string();
            assert!(complaint.contains("invalid value '…' for '"), "{complaint}");
            assert!(complaint.contains(reason), "{complaint}");
            for secret in [value, TOKEN, "example.com"] {
                assert!(!complaint.contains(secret), "{complaint}");
            }
        }
    }

    #[test]
    fn reason_that_repeats_a_masked_value_is_left_out() {
        for (arguments, value, reason) in [
            (&["serve", "--log-level"][..], "s3cret,me@host=info", "s3cret"),
            (&["serve", "--log-level"], "kwp_x=info,s3cret=", "s3cret"),
            (&["serve", "--database-pool-size"], "s3cret@host", "digit"),
        ] {
            let arguments: Vec<&str> = arguments.iter().copied().chain([value]).collect();
            let complaint = read(&arguments).unwrap_err().to_string();
            assert!(complaint.contains("invalid value '…' for '"), "{complaint}");
            assert!(!complaint.contains(reason), "{complaint}");
        }
    }

    #[test]
    fn misspelled_command_or_flag_is_repeated() {
        for (word, arguments) in [("migrat", &["migrat"][..]), ("--listn", &["serve", "--listn=x"])] {
            let complaint = read(arguments).unwrap_err().to_string();
            assert!(complaint.contains(word), "{complaint}");
        }
    }

    #[test]
    fn help_hides_the_values_of_variables() {
        fn check(command: &ClapCommand) {
            for argument in command.get_arguments().filter(|a| a.get_env().is_some()) {
                assert!(argument.is_hide_env_values_set(), "{argument}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&CommandLine::clap_command());
    }
}
