//! `keyward export`: everything that the installation keeps, for another database.

use std::io::{self, IsTerminal};

use keyward_persistence::transfer;

use super::Failure;
use crate::options::StorageOptions;
use crate::output;
use crate::storage;

/// Writes it to standard output, unless somebody would see it there.
pub(crate) async fn run(options: StorageOptions) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::ExportToTerminal);
    }
    let store = storage::open_to_export(&options.database).await?;
    // Most likely it is another database than the one that was meant.
    if !store.is_set_up().await? {
        return Err(Failure::NothingToExport);
    }
    let rows = transfer::export(&*store, io::stdout()).await?;
    output::tell(&format!("Exported rows: {rows}."));
    Ok(())
}
