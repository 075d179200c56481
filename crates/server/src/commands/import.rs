//! `keyward import`: everything that another database kept.

use std::io::{self, IsTerminal};

use keyward_domain::ports::StorageError;
use keyward_persistence::transfer::{self, ImportError};

use super::Failure;
use crate::options::StorageOptions;
use crate::output;
use crate::password_hasher::is_affordable;
use crate::storage;

/// Reads an export from standard input. No server may use the data directory meanwhile: changes made while
/// the database was empty must not mix with the imported ones.
pub(crate) async fn run(options: StorageOptions) -> Result<(), Failure> {
    if io::stdin().is_terminal() {
        return Err(Failure::ImportFromTerminal);
    }
    let (store, _data_directory_lock) = storage::open_to_import(&options.database).await?;
    let rows = transfer::import(&*store, io::stdin(), is_affordable)
        .await
        .map_err(failure)?;
    output::report(&format!("Imported rows: {rows}."));
    Ok(())
}

fn failure(error: ImportError) -> Failure {
    match error {
        ImportError::NotEmpty | ImportError::Invalid(_) | ImportError::RowRefused { .. } => {
            Failure::NothingImported(error)
        }
        ImportError::NotAllowed(source) => Failure::ImportNotAllowed(source),
        ImportError::Storage(error @ StorageError::OutcomeUnknown(_)) => error.into(),
        ImportError::Storage(_) => Failure::NothingImported(error),
    }
}
