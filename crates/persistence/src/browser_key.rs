//! The key of remembered browsers, as both databases keep it.

use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::remembered_browser::BrowserKey;

/// Reads the column.
pub(crate) fn read_browser_key(stored: Option<Vec<u8>>) -> Result<Option<BrowserKey>, StorageError> {
    let key = stored.map(|bytes| <[u8; BrowserKey::BYTES]>::try_from(bytes).map(BrowserKey::from_bytes));
    key.transpose().map_err(|bytes| StorageError::Corrupt {
        table: "installation",
        column: "browser_key",
        id: "the only row".to_owned(),
        problem: format!("{} bytes long", bytes.len()),
    })
}
