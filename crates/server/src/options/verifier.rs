//! The options about verifiers: services that introspect the tokens of their clients.

use clap::{Args, Subcommand};
use keyward_domain::verifier::VerifierName;

/// The subcommands of `keyward verifier`.
#[derive(Debug, Subcommand)]
pub(crate) enum VerifierCommand {
    /// Make a secret for a service, and the line for the file of --verifiers
    ///
    /// Prints the line on standard output, and the secret, which is stored nowhere, on standard error. To
    /// replace a secret without a pause, append a second line with the same name, and remove the first one
    /// when the service uses the new secret.
    Create(CreateVerifierOptions),
}

/// The options of `keyward verifier create`.
#[derive(Debug, Args)]
pub(crate) struct CreateVerifierOptions {
    /// The name of the service: letters, digits, dots, underscores and hyphens
    #[arg(value_name = "NAME", value_parser = VerifierName::parse)]
    pub(crate) name: VerifierName,
}
