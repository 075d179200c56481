//! Why a command did not do what it was asked.

use crate::database_url::DatabaseUrlError;
use crate::output::OutputError;
use crate::standard_input::StandardInputError;

/// One sentence for whoever typed the command. Nothing was changed unless it says so.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    DatabaseUrl(#[from] DatabaseUrlError),
    #[error(transparent)]
    StandardInput(#[from] StandardInputError),
    #[error(transparent)]
    Output(#[from] OutputError),
}
