//! Detects in the background that another version has migrated the database.

use std::sync::Arc;
use std::time::Duration;

use keyward_persistence::{SchemaState, UnusableSchema};
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use crate::job::supervised;
use crate::storage::warn_of_newer_tables;
use crate::store::SchemaProbe;

/// The interval between checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Checks every minute, and logs once that another version has migrated. The state at the start is logged
/// then.
pub(crate) async fn watch(storage: Arc<dyn SchemaProbe>) {
    let mut looks = interval(CHECK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: Option<SchemaState> = None;
    loop {
        looks.tick().await;
        // Outages are logged elsewhere.
        let Some(Ok(state)) = supervised("schema watch", storage.schema_state()).await else {
            continue;
        };
        if last.as_ref().is_some_and(|last| *last != state) {
            log_migration(&state);
        }
        last = Some(state);
    }
}

/// Logs a migration by a newer version.
fn log_migration(state: &SchemaState) {
    match state {
        SchemaState::NewerCompatible { newest } => warn_of_newer_tables(newest),
        SchemaState::Unusable(UnusableSchema::Newer { newest }) => warn!(
            migration = newest.as_str(),
            hint = "upgrade this server now",
            "database was migrated by a newer, incompatible version"
        ),
        SchemaState::Empty
        | SchemaState::Unusable(UnusableSchema::TooOld { .. })
        | SchemaState::Outdated { .. }
        | SchemaState::Current => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use keyward_domain::ports::StorageError;
    use parking_lot::Mutex;
    use tokio::time::sleep;

    use super::*;
    use crate::logging::tests::Lines;

    /// The state of the tables, set by the test; `None` if the database does not answer.
    struct Tables(Mutex<Option<SchemaState>>);

    impl Tables {
        async fn become_for_long(&self, state: Option<SchemaState>) {
            *self.0.lock() = state;
            sleep(CHECK_INTERVAL * 3).await;
        }
    }

    #[async_trait]
    impl SchemaProbe for Tables {
        async fn schema_state(&self) -> Result<SchemaState, StorageError> {
            let state = self.0.lock().clone();
            state.ok_or_else(|| StorageError::Unavailable("away".into()))
        }
    }

    /// The second look at them panics; then another version has migrated them.
    #[derive(Default)]
    struct SecondLookPanics(AtomicUsize);

    #[async_trait]
    impl SchemaProbe for SecondLookPanics {
        async fn schema_state(&self) -> Result<SchemaState, StorageError> {
            let looks = self.0.fetch_add(1, Ordering::Relaxed);
            assert!(looks != 1, "a defect");
            Ok(if looks == 0 {
                SchemaState::Current
            } else {
                SchemaState::NewerCompatible {
                    newest: "29991231235959".to_owned(),
                }
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn check_that_panics_is_followed_by_others() {
        let (log, _guard) = Lines::of_this_thread();
        tokio::spawn(watch(Arc::new(SecondLookPanics::default())));
        sleep(CHECK_INTERVAL * 3).await;
        let text = log.text();
        assert!(
            text.contains("task panicked") && text.contains("newer, compatible version"),
            "{text}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn migration_by_another_version_is_logged_once() {
        let (log, _guard) = Lines::of_this_thread();
        let newest = "29991231235959".to_owned();
        let tables = Arc::new(Tables(Mutex::new(Some(SchemaState::Current))));
        tokio::spawn(watch(tables.clone()));

        tables.become_for_long(Some(SchemaState::Current)).await;
        tables.become_for_long(None).await;
        tables.become_for_long(Some(SchemaState::Current)).await;
        assert_eq!(log.take(), Vec::<String>::new());

        let compatible = SchemaState::NewerCompatible {
            newest: newest.clone(),
        };
        tables.become_for_long(Some(compatible.clone())).await;
        tables.become_for_long(None).await;
        tables.become_for_long(Some(compatible)).await;
        let lines = log.take();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("newer, compatible version"), "{lines:?}");

        let incompatible = SchemaState::Unusable(UnusableSchema::Newer { newest });
        tables.become_for_long(Some(incompatible)).await;
        let lines = log.take();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("upgrade this server now"), "{lines:?}");
    }
}
