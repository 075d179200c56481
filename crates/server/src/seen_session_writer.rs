//! Records in the background when console sessions were last seen.

use std::sync::Arc;

use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::SessionStore;
use keyward_domain::sign_in::seen_sessions::SeenSessions;

use crate::background_writer::BackgroundWriter;

/// Writes what [`SeenSessions`] holds.
pub(crate) struct SeenSessionWriter {
    seen: Arc<SeenSessions>,
    store: Arc<dyn SessionStore>,
}

impl SeenSessionWriter {
    pub(crate) fn new(seen: Arc<SeenSessions>, store: Arc<dyn SessionStore>) -> Self {
        Self { seen, store }
    }
}

impl BackgroundWriter for SeenSessionWriter {
    const RECORDS: &'static str = "the last requests of sessions";
    const TASK: &'static str = "seen_sessions";

    /// On failure it stops. The entry that failed is kept only if the storage was unavailable; else it is
    /// dropped, and the session's next request adds it again.
    async fn write(&self) -> Result<usize, StorageError> {
        let mut count = 0;
        while let Some((session, at)) = self.seen.next() {
            let written = self.store.seen(session, at).await;
            if !matches!(written, Err(StorageError::Unavailable(_))) {
                self.seen.forget(session, at);
            }
            written?;
            count += 1;
        }
        Ok(count)
    }

    fn unwritten(&self) -> usize {
        self.seen.len()
    }
}
