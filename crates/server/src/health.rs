//! The health checks `/healthz` and `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_front_door::Readiness;
use keyward_http_api::{BaseUrl, unavailable_response};
use poem::http::{HeaderValue, header};
use poem::{Body, Response};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use crate::store::StorageProbe;
use crate::trial_changes::Changes;

/// The timeout after which the storage counts as unavailable.
const STORAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a result is cached, because any client may request `/readyz` often.
const CACHE_TTL: Duration = Duration::from_secs(1);

/// Why a server is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotReady {
    /// It is about to end.
    ShuttingDown,
    /// Its storage does not answer.
    StorageUnavailable,
    /// Its storage lacks migrations, or has those of a version that this one cannot work with.
    Schema,
    /// Its storage answers, but accepts no changes.
    Changes,
    /// Its storage answers, and has room on the disk for few changes.
    DiskFull,
    /// The database file is damaged; its intact pages can be read.
    Damaged,
}

pub(crate) struct Health {
    readiness: Readiness,
    reads: Arc<Reads>,
    changes: watch::Receiver<Changes>,
}

/// Whether the storage answers.
struct Reads {
    storage: Arc<dyn StorageProbe>,
    last_probe: Mutex<Option<Probe>>,
}

#[derive(Clone, Copy)]
struct Probe {
    at: Instant,
    obstacle: Option<NotReady>,
}

impl Health {
    /// `changes` has the outcome of the trial changes, which are made in the background.
    pub(crate) fn new(
        readiness: Readiness,
        storage: Arc<dyn StorageProbe>,
        changes: watch::Receiver<Changes>,
    ) -> Self {
        Self {
            readiness,
            reads: Arc::new(Reads {
                storage,
                last_probe: Mutex::new(None),
            }),
            changes,
        }
    }

    /// Whether the server wants requests and can answer them.
    pub(crate) async fn readiness(&self) -> Result<(), NotReady> {
        if !self.readiness.is_ready() {
            return Err(NotReady::ShuttingDown);
        }
        // In its own task, so that a client that disconnects does not cancel the shared check.
        let reads = tokio::spawn(Arc::clone(&self.reads).obstacle()).await;
        match reads.unwrap_or(Some(NotReady::StorageUnavailable)) {
            Some(_) if *self.changes.borrow() == Changes::Damaged => Err(NotReady::Damaged),
            Some(obstacle) => Err(obstacle),
            None => self.changes_work().await,
        }
    }

    /// The result of the last trial change; waits for the first one.
    async fn changes_work(&self) -> Result<(), NotReady> {
        let mut changes = self.changes.clone();
        let tried = changes.wait_for(|changes| *changes != Changes::Untried);
        let Ok(Ok(changes)) = timeout(STORAGE_TIMEOUT, tried).await else {
            return Err(NotReady::Changes);
        };
        if changes.work() {
            return Ok(());
        }
        Err(match *changes {
            Changes::DiskFull => NotReady::DiskFull,
            Changes::Damaged => NotReady::Damaged,
            Changes::Untried | Changes::Refused | Changes::Worked(_) => NotReady::Changes,
        })
    }
}

impl Reads {
    /// Checks the storage, unless a recent result is cached; concurrent calls share one check.
    async fn obstacle(self: Arc<Self>) -> Option<NotReady> {
        let mut last = self.last_probe.lock().await;
        if let Some(probe) = *last
            && probe.at.elapsed() < CACHE_TTL
        {
            return probe.obstacle;
        }
        let found = self.probe().await;
        match (last.is_none_or(|probe| probe.obstacle.is_none()), &found) {
            (true, Some((_, cause))) => warn!(cause, "not ready"),
            (false, None) => info!("ready again"),
            (true, None) | (false, Some(_)) => {}
        }
        let obstacle = found.map(|(obstacle, _)| obstacle);
        *last = Some(Probe {
            at: Instant::now(),
            obstacle,
        });
        obstacle
    }

    /// Why the server is not ready, and the sentence for the log.
    async fn probe(&self) -> Option<(NotReady, String)> {
        match timeout(STORAGE_TIMEOUT, self.storage.is_ready()).await {
            Ok(Ok(true)) => None,
            Ok(Ok(false)) => Some((
                NotReady::Schema,
                "the tables of the database do not fit this version".to_owned(),
            )),
            Ok(Err(error)) => Some((NotReady::StorageUnavailable, sentence(&error))),
            Err(_) => Some((
                NotReady::StorageUnavailable,
                "the storage does not answer".to_owned(),
            )),
        }
    }
}

/// The process runs; whether it can do anything is another question.
pub(crate) fn live_response() -> Response {
    status_response("{\"status\":\"live\"}\n")
}

/// The server wants requests and can answer them.
pub(crate) fn ready_response() -> Response {
    status_response("{\"status\":\"ready\"}\n")
}

/// The server wants no requests: a problem (RFC 9457), as everywhere, and none that leaves an outcome
/// unknown.
pub(crate) fn not_ready_response(obstacle: NotReady, request_id: &str, base_url: &BaseUrl) -> Response {
    let detail = match obstacle {
        NotReady::ShuttingDown => "The server is about to end.",
        NotReady::StorageUnavailable => "The database does not answer.",
        NotReady::Schema => "The tables of the database do not fit this version.",
        NotReady::Changes => "The database accepts no changes. Keys are verified as before.",
        NotReady::DiskFull => {
            "The disk of the database is full. Keys are verified, and can be revoked while its reserve lasts; other changes wait."
        }
        NotReady::Damaged => {
            "The database file is damaged: restore a backup. Keys that can still be read are verified."
        }
    };
    unavailable_response(detail, request_id, base_url)
}

fn status_response(json: &'static str) -> Response {
    let mut response = Response::from(Body::from(json));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use async_trait::async_trait;
    use keyward_domain::ports::StorageError;
    use keyward_front_door::{FrontDoor, FrontDoorConfig};
    use keyward_persistence::TrialFailure;
    use tokio::task::JoinSet;
    use tokio::time::sleep;

    use super::*;
    use crate::composition::{request_ids, sources_of_this_machine};
    use crate::trial_changes::{SUCCESS_TTL, TrialChanges};

    #[derive(Clone, Default)]
    struct Storage {
        is_away: Arc<AtomicBool>,
        is_read_only: Arc<AtomicBool>,
        is_busy: Arc<AtomicBool>,
        is_full: Arc<AtomicBool>,
        is_damaged: Arc<AtomicBool>,
        panics: Arc<AtomicBool>,
        answers_after: Duration,
        asked: Arc<AtomicUsize>,
        changed: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl StorageProbe for Storage {
        async fn is_ready(&self) -> Result<bool, StorageError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            sleep(self.answers_after).await;
            if self.is_away.load(Ordering::Relaxed) {
                Err(StorageError::Unavailable("away".into()))
            } else {
                Ok(true)
            }
        }

        async fn try_change(&self) -> Result<(), TrialFailure> {
            self.changed.fetch_add(1, Ordering::Relaxed);
            assert!(!self.panics.load(Ordering::Relaxed), "a defect");
            if self.is_damaged.load(Ordering::Relaxed) {
                Err(TrialFailure::Damaged(StorageError::Defect("damaged".into())))
            } else if self.is_read_only.load(Ordering::Relaxed) {
                Err(TrialFailure::Refused(StorageError::Unavailable(
                    "read-only".into(),
                )))
            } else if self.is_full.load(Ordering::Relaxed) {
                Err(TrialFailure::DiskFull(StorageError::Unavailable("full".into())))
            } else if self.is_busy.load(Ordering::Relaxed) {
                Err(TrialFailure::Slow(StorageError::Unavailable("busy".into())))
            } else {
                Ok(())
            }
        }
    }

    /// With its trial changes, which end with the test.
    fn health(storage: &Storage) -> Health {
        let config = FrontDoorConfig::new(request_ids(sources_of_this_machine()));
        let front_door = FrontDoor::new(config).unwrap();
        let storage: Arc<dyn StorageProbe> = Arc::new(storage.clone());
        let (trials, changes) = TrialChanges::new(Arc::clone(&storage));
        tokio::spawn(trials.run());
        Health::new(front_door.readiness(), storage, changes)
    }

    #[tokio::test(start_paused = true)]
    async fn server_is_ready_while_its_storage_is() {
        let storage = Storage::default();
        let health = health(&storage);
        assert_eq!(health.readiness().await, Ok(()));
        storage.is_away.store(true, Ordering::Relaxed);
        tokio::time::advance(CACHE_TTL).await;
        assert_eq!(health.readiness().await, Err(NotReady::StorageUnavailable));
        storage.is_away.store(false, Ordering::Relaxed);
        tokio::time::advance(CACHE_TTL).await;
        assert_eq!(health.readiness().await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn thousand_concurrent_readiness_requests_query_the_storage_once() {
        let storage = Storage::default();
        let health = health(&storage);
        let health = Arc::new(health);
        let mut clients = JoinSet::new();
        for _ in 0..1_000 {
            let health = Arc::clone(&health);
            clients.spawn(async move { health.readiness().await });
        }
        assert_eq!(clients.join_all().await, [Ok(()); 1_000]);
        assert_eq!(storage.asked.load(Ordering::Relaxed), 1);
        assert_eq!(storage.changed.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn disconnecting_readiness_clients_cause_no_additional_storage_queries() {
        let storage = Storage {
            answers_after: CACHE_TTL / 2,
            ..Storage::default()
        };
        let health = health(&storage);
        for _ in 0..10 {
            let hung_up = timeout(CACHE_TTL / 100, health.readiness()).await;
            assert!(hung_up.is_err());
        }
        assert_eq!(storage.asked.load(Ordering::Relaxed), 1);
        assert_eq!(health.readiness().await, Ok(()));
        assert_eq!(storage.asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn server_with_read_only_storage_is_unready() {
        let storage = Storage::default();
        let health = health(&storage);
        assert_eq!(health.readiness().await, Ok(()));
        storage.is_read_only.store(true, Ordering::Relaxed);
        sleep(Duration::from_millis(5_001)).await;
        assert_eq!(health.readiness().await, Err(NotReady::Changes));
        storage.is_read_only.store(false, Ordering::Relaxed);
        sleep(Duration::from_millis(1_001)).await;
        assert_eq!(health.readiness().await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn server_on_a_full_disk_is_unready_until_space_returns() {
        let storage = Storage::default();
        storage.is_full.store(true, Ordering::Relaxed);
        let health = health(&storage);
        assert_eq!(health.readiness().await, Err(NotReady::DiskFull));
        storage.is_full.store(false, Ordering::Relaxed);
        sleep(Duration::from_millis(1_001)).await;
        assert_eq!(health.readiness().await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn trial_change_that_panics_is_followed_by_others() {
        let storage = Storage::default();
        let health = health(&storage);
        assert_eq!(health.readiness().await, Ok(()));
        storage.panics.store(true, Ordering::Relaxed);
        sleep(SUCCESS_TTL).await;
        assert_eq!(health.readiness().await, Err(NotReady::Changes));
        storage.panics.store(false, Ordering::Relaxed);
        sleep(Duration::from_millis(1_001)).await;
        assert_eq!(health.readiness().await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn server_with_a_damaged_file_is_unready_even_without_answers() {
        let storage = Storage::default();
        storage.is_damaged.store(true, Ordering::Relaxed);
        let health = health(&storage);
        assert_eq!(health.readiness().await, Err(NotReady::Damaged));
        storage.is_away.store(true, Ordering::Relaxed);
        tokio::time::advance(CACHE_TTL).await;
        assert_eq!(health.readiness().await, Err(NotReady::Damaged));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_changes_count_only_without_a_recent_success() {
        let storage = Storage::default();
        let health = health(&storage);
        assert_eq!(health.readiness().await, Ok(()));
        storage.is_busy.store(true, Ordering::Relaxed);
        sleep(SUCCESS_TTL - CACHE_TTL).await;
        assert_eq!(health.readiness().await, Ok(()));
        sleep(CACHE_TTL).await;
        assert_eq!(health.readiness().await, Err(NotReady::Changes));
    }
}
