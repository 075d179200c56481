//! Notices, beside the requests, when a newer version migrates the database under this server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use keyward_domain::ports::StorageError;
use keyward_persistence::SchemaState;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use crate::storage::warn_of_newer_tables;

/// How long it may take until a server notices.
const BETWEEN_LOOKS: Duration = Duration::from_secs(60);

/// What can say how the tables stand to this version.
#[async_trait]
pub(crate) trait SchemaProbe: Send + Sync {
    /// How the tables stand to this version.
    async fn schema_state(&self) -> Result<SchemaState, StorageError>;
}

/// A watch that ends with this value.
pub(crate) struct SchemaWatch(JoinHandle<()>);

impl SchemaWatch {
    /// Looks now and then, and says so once when another version has migrated. How the tables were when the server
    /// started, it said then.
    pub(crate) fn start(storage: Arc<dyn SchemaProbe>) -> Self {
        Self(tokio::spawn(async move {
            let mut looks = interval(BETWEEN_LOOKS);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut last: Option<SchemaState> = None;
            loop {
                looks.tick().await;
                // Whether the database answers is for others to say.
                let Ok(state) = storage.schema_state().await else {
                    continue;
                };
                if last.as_ref().is_some_and(|last| *last != state) {
                    tell(&state);
                }
                last = Some(state);
            }
        }))
    }
}

impl Drop for SchemaWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Says what another version did, if it did anything.
fn tell(state: &SchemaState) {
    match state {
        SchemaState::NewerCompatible { newest } => warn_of_newer_tables(newest),
        SchemaState::NewerIncompatible { newest } => warn!(
            migration = newest.as_str(),
            "a newer version of Keyward has migrated the database to what this version cannot work with: replace this \
             server by the newer version now"
        ),
        SchemaState::Empty | SchemaState::Outdated { .. } | SchemaState::Current => {}
    }
}
