//! `keyward export`: exports all data of the installation.

use std::io::{self, IsTerminal};

use keyward_persistence::transfer;

use super::Failure;
use crate::options::StorageOptions;
use crate::output;
use crate::storage;

/// Writes the export to standard output; refuses a terminal.
pub(crate) async fn run(options: StorageOptions) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::ExportToTerminal);
    }
    let store = storage::open_to_export(&options.database).await?;
    // An empty database is most likely not the intended one.
    if !store.is_set_up().await? {
        return Err(Failure::NothingToExport);
    }
    let rows = transfer::export(&*store, io::stdout()).await?;
    output::report(&format!("Exported rows: {rows}."));
    Ok(())
}
