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

    /// In an outage it stops. An entry that fails otherwise is dropped, and the session's next request adds it
    /// again.
    async fn write(&self) -> Result<usize, StorageError> {
        let mut written = Ok(0);
        while let Some((session, at)) = self.seen.next() {
            match self.store.seen(session, at).await {
                Ok(()) => written = written.map(|count| count + 1),
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => written = Err(error),
            }
            self.seen.forget(session, at);
        }
        written
    }

    fn unwritten(&self) -> usize {
        self.seen.len()
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::clock::Clock as _;
    use keyward_domain::id::SessionId;
    use keyward_domain::sign_in::ports::MockSessionStore;

    use super::*;
    use crate::clock::SystemClock;

    #[tokio::test]
    async fn rejected_session_keeps_no_other_unwritten() {
        let seen = Arc::new(SeenSessions::new(2));
        let [rejected, other]: [SessionId; 2] = ["1", "2"].map(|last| {
            format!("019ab8f2-0000-7000-8000-00000000000{last}")
                .parse()
                .unwrap()
        });
        for session in [rejected, other] {
            seen.note(session, SystemClock.now());
        }
        let mut store = MockSessionStore::new();
        store.expect_seen().times(2).returning(move |session, _| {
            if session == rejected {
                Err(StorageError::Defect("damaged".into()))
            } else {
                Ok(())
            }
        });
        let writer = SeenSessionWriter::new(Arc::clone(&seen), Arc::new(store));
        let written = writer.write().await;
        assert!(matches!(written, Err(StorageError::Defect(_))), "{written:?}");
        assert_eq!(writer.unwritten(), 0);
    }
}
