//! `/healthz` and `/readyz`, for whoever watches over the process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use keyward_domain::ports::StorageError;
use keyward_front_door::Readiness;
use keyward_http_api::{BaseUrl, unavailable_response};
use poem::Response;
use poem::http::header;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use crate::failure_sentence::sentence;

/// How long the storage may take to answer before it counts as away.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long an answer of the storage is repeated, so that asking often costs it nothing: anybody may ask.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// What can say whether the storage is fit for use.
#[async_trait]
pub(crate) trait StorageProbe: Send + Sync {
    /// Whether it answers with an up-to-date schema.
    async fn is_ready(&self) -> Result<bool, StorageError>;
}

/// What keeps a server from taking requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotReady {
    /// It is about to end.
    Leaving,
    /// Its storage does not answer, or lacks migrations.
    Storage,
}

/// The process and what it needs.
pub(crate) struct Health {
    readiness: Readiness,
    storage: Arc<dyn StorageProbe>,
    last_probe: Mutex<Option<Probe>>,
}

#[derive(Clone, Copy)]
struct Probe {
    at: Instant,
    is_ready: bool,
}

impl Health {
    pub(crate) fn new(readiness: Readiness, storage: Arc<dyn StorageProbe>) -> Self {
        Self {
            readiness,
            storage,
            last_probe: Mutex::new(None),
        }
    }

    /// Whether the server wants requests and can answer them.
    pub(crate) async fn readiness(&self) -> Result<(), NotReady> {
        if !self.readiness.is_ready() {
            Err(NotReady::Leaving)
        } else if self.storage_is_ready().await {
            Ok(())
        } else {
            Err(NotReady::Storage)
        }
    }

    /// Asks the storage, at most once in a while; who comes meanwhile waits for the same answer.
    async fn storage_is_ready(&self) -> bool {
        let mut last = self.last_probe.lock().await;
        if let Some(probe) = *last
            && probe.at.elapsed() < FRESH_FOR
        {
            return probe.is_ready;
        }
        let obstacle = self.obstacle().await;
        let is_ready = obstacle.is_none();
        match (last.is_none_or(|probe| probe.is_ready), obstacle) {
            (true, Some(obstacle)) => warn!(cause = obstacle, "not ready"),
            (false, None) => info!("ready again"),
            (true, None) | (false, Some(_)) => {}
        }
        *last = Some(Probe {
            at: Instant::now(),
            is_ready,
        });
        is_ready
    }

    async fn obstacle(&self) -> Option<String> {
        match timeout(PATIENCE, self.storage.is_ready()).await {
            Ok(Ok(true)) => None,
            Ok(Ok(false)) => Some("migrations are missing".to_owned()),
            Ok(Err(error)) => Some(sentence(&error)),
            Err(_) => Some("the storage does not answer".to_owned()),
        }
    }
}

/// The process runs; whether it can do anything is another question.
pub(crate) fn live_response() -> Response {
    status_response("live")
}

/// The server wants requests and can answer them.
pub(crate) fn ready_response() -> Response {
    status_response("ready")
}

/// The server wants no requests: a problem (RFC 9457), as everywhere, and none that leaves an outcome unknown.
pub(crate) fn not_ready_response(obstacle: NotReady, request_id: &str, base_url: &BaseUrl) -> Response {
    let detail = match obstacle {
        NotReady::Leaving => "The server is about to end.",
        NotReady::Storage => "The storage does not answer, or lacks migrations.",
    };
    unavailable_response(detail, request_id, base_url)
}

fn status_response(status: &str) -> Response {
    Response::builder()
        .content_type("application/json")
        .header(header::CACHE_CONTROL, "no-store")
        .body(json!({ "status": status }).to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use keyward_front_door::{FrontDoor, FrontDoorConfig};

    use super::*;
    use crate::composition::Sources;

    #[derive(Clone, Default)]
    struct Storage {
        is_away: Arc<AtomicBool>,
        asked: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl StorageProbe for Storage {
        async fn is_ready(&self) -> Result<bool, StorageError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if self.is_away.load(Ordering::Relaxed) {
                Err(StorageError::Unavailable("away".into()))
            } else {
                Ok(true)
            }
        }
    }

    fn front_door() -> FrontDoor {
        let config = FrontDoorConfig::new(Sources::of_this_machine().request_ids());
        FrontDoor::new(config).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_ready_while_its_storage_is() {
        let storage = Storage::default();
        let front_door = front_door();
        let health = Health::new(front_door.readiness(), Arc::new(storage.clone()));
        assert_eq!(health.readiness().await, Ok(()));
        storage.is_away.store(true, Ordering::Relaxed);
        tokio::time::advance(FRESH_FOR).await;
        assert_eq!(health.readiness().await, Err(NotReady::Storage));
        storage.is_away.store(false, Ordering::Relaxed);
        tokio::time::advance(FRESH_FOR).await;
        assert_eq!(health.readiness().await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn asking_a_thousand_times_at_once_asks_the_storage_once() {
        let storage = Storage::default();
        let front_door = front_door();
        let health = Health::new(front_door.readiness(), Arc::new(storage.clone()));
        for _ in 0..1_000 {
            assert_eq!(health.readiness().await, Ok(()));
        }
        assert_eq!(storage.asked.load(Ordering::Relaxed), 1);
    }
}
