//! Which replicas have seen what, read once for all that wait in this process.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyward_domain::access_changes::{ChangeNumber, RegisteredReplicas, ReplicaId};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::AccessChanges;
use keyward_persistence::on_behalf_of_everybody;
use tokio::select;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::{info, warn};

/// The first pause between two readings, after somebody has begun to wait; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Reads the replicas again and again while somebody waits, one reading at a time, however many they are.
pub(crate) struct ReplicaWatch {
    changes: Arc<dyn AccessChanges>,
    /// How many readings have begun.
    begun: AtomicU64,
    readings: watch::Sender<Reading>,
    /// Somebody has begun to wait.
    arrived: Notify,
    is_reading: Mutex<bool>,
    being_struck_off: Mutex<HashSet<ReplicaId>>,
}

/// What was read; nothing if the database did not answer.
#[derive(Clone, Default)]
struct Reading {
    number: u64,
    replicas: Option<Arc<RegisteredReplicas>>,
}

/// The readings for one that waits: those that began after it did, so that each knows what was committed before.
pub(crate) struct Readings {
    before: u64,
    receiver: watch::Receiver<Reading>,
}

impl ReplicaWatch {
    pub(crate) fn new(changes: Arc<dyn AccessChanges>) -> Self {
        Self {
            changes,
            begun: AtomicU64::new(0),
            readings: watch::Sender::default(),
            arrived: Notify::new(),
            is_reading: Mutex::default(),
            being_struck_off: Mutex::default(),
        }
    }

    /// Reads from now on, until the readings are dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Readings {
        let readings = Readings {
            receiver: self.readings.subscribe(),
            before: self.begun.load(Ordering::SeqCst),
        };
        self.arrived.notify_one();
        let mut is_reading = locked(&self.is_reading);
        if !*is_reading {
            *is_reading = true;
            tokio::spawn(on_behalf_of_everybody(Arc::clone(self).read_while_watched()));
        }
        readings
    }

    async fn read_while_watched(self: Arc<Self>) {
        // If it panics, the next one that waits begins again.
        let _reading = WhileReading(&self.is_reading);
        let mut pause = FIRST_PAUSE;
        while self.is_watched() {
            let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
            let replicas = self.changes.replicas().await.ok().map(Arc::new);
            self.readings.send_replace(Reading { number, replicas });
            select! {
                () = self.arrived.notified() => pause = FIRST_PAUSE,
                () = sleep(pause) => pause = (2 * pause).min(LONGEST_PAUSE),
            }
        }
    }

    /// If not, the next one that waits begins again.
    fn is_watched(&self) -> bool {
        let mut is_reading = locked(&self.is_reading);
        *is_reading = self.readings.receiver_count() > 0;
        *is_reading
    }

    /// Strikes off replicas that were waited for in vain, so that nobody else waits for them. It goes on by itself if nobody
    /// waits for its end; of those that are being struck off already, it leaves the rest to whoever does that.
    pub(crate) fn strike_off(
        self: &Arc<Self>,
        replicas: Vec<ReplicaId>,
        unless_seen: ChangeNumber,
    ) -> JoinHandle<()> {
        let watch = Arc::clone(self);
        tokio::spawn(on_behalf_of_everybody(async move {
            for replica in replicas {
                if !locked(&watch.being_struck_off).insert(replica) {
                    continue;
                }
                match watch.changes.strike_off(replica, unless_seen).await {
                    Ok(()) => info!(%replica, "replica struck off: it did not see a change within 5 s"),
                    Err(error) => {
                        warn!(%replica, cause = sentence(&error), "replica not struck off; the next revocation may wait for it");
                    }
                }
                locked(&watch.being_struck_off).remove(&replica);
            }
        }))
    }
}

impl Readings {
    /// The next one that was answered.
    pub(crate) async fn next(&mut self) -> Arc<RegisteredReplicas> {
        loop {
            {
                let reading = self.receiver.borrow_and_update();
                if reading.number > self.before
                    && let Some(replicas) = &reading.replicas
                {
                    self.before = reading.number;
                    return Arc::clone(replicas);
                }
            }
            if self.receiver.changed().await.is_err() {
                // The watch is gone, and with it whatever could be read.
                std::future::pending::<()>().await;
            }
        }
    }
}

struct WhileReading<'a>(&'a Mutex<bool>);

impl Drop for WhileReading<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *locked(self.0) = false;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
