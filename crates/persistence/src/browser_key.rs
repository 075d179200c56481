//! Reads the key that signs the cookies of remembered browsers.

use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::remembered_browser::BrowserKey;

use crate::stored_row::StoredRow;

/// Reads the column.
pub(crate) fn read_browser_key(stored: Option<Vec<u8>>) -> Result<Option<BrowserKey>, StorageError> {
    let key = stored.map(|bytes| <[u8; BrowserKey::BYTES]>::try_from(bytes).map(BrowserKey::from_bytes));
    key.transpose().map_err(|bytes| {
        let stored = StoredRow::new("installation", "the only row");
        stored.corrupt("browser_key", format!("{} bytes long", bytes.len()))
    })
}
