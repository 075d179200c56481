//! Writes down when console sessions were last seen, beside the pages.

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

    /// After a failure the rest waits for the next time; so does the one that was being written, if the storage was
    /// unavailable. Else it would fail again, and the session's next request notes it anew.
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
