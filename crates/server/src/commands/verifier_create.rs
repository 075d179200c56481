//! `keyward verifier create`: credentials for a service that introspects tokens.

use keyward_domain::verifier::VerifierSecret;
use zeroize::Zeroizing;

use super::Failure;
use crate::options::CreateVerifierOptions;
use crate::output;
use crate::random::OsRandom;
use crate::verifier_file;

/// Prints the line for the file on standard output, so that it can be appended there, and the secret on
/// standard error.
pub(crate) fn run(options: &CreateVerifierOptions) -> Result<(), Failure> {
    output::refuse_closed_errors()?;
    let secret = VerifierSecret::generate(&OsRandom);
    let shown = Zeroizing::new(format!(
        "Secret of {}, shown only once: {}",
        options.name,
        secret.expose()
    ));
    // First, so that the file does not get a verifier whose secret was not shown.
    output::show(&shown).map_err(Failure::SecretNotShown)?;
    output::answer(&verifier_file::line(&options.name, secret.digest()))?;
    Ok(())
}
