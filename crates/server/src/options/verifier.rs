//! The options about verifiers: services that introspect the tokens of their clients.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use keyward_domain::verifier::VerifierName;

/// Who may introspect tokens.
#[derive(Debug, Args)]
#[command(next_help_heading = "Introspection")]
pub(crate) struct VerifierOptions {
    /// The file with the services that may introspect tokens; without it, nobody may
    ///
    /// Each line is one from `keyward verifier create`; empty lines and lines that begin with # are ignored.
    /// A changed file is read again within seconds. If it cannot be read then, the verifiers before the
    /// change stay.
    #[arg(long, env = "KEYWARD_VERIFIERS", value_name = "FILE")]
    pub(crate) verifiers: Option<PathBuf>,
}

/// What can be asked about verifiers.
#[derive(Debug, Subcommand)]
pub(crate) enum VerifierCommand {
    /// Make a secret for a service, and the line for the file of --verifiers
    ///
    /// Prints the line on standard output, and the secret, which is stored nowhere, on standard error. To
    /// replace a secret without a pause, append a second line with the same name, and remove the first one
    /// when the service uses the new secret.
    Create(CreateVerifierOptions),
}

/// Whose secret it is.
#[derive(Debug, Args)]
pub(crate) struct CreateVerifierOptions {
    /// The name of the service: letters, digits, dots, underscores and hyphens
    #[arg(value_name = "NAME", value_parser = VerifierName::parse)]
    pub(crate) name: VerifierName,
}
