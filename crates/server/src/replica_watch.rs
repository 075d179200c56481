//! Which replicas have seen what, read once for all that wait in this process.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::access_changes::{ChangeNumber, RegisteredReplicas, ReplicaId};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::AccessChanges;
use keyward_persistence::on_behalf_of_several_clients;
use keyward_verification_cache::ReadingNumber;
use parking_lot::Mutex;
use tokio::select;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{info, warn};

/// The first pause between two readings, after a new caller has begun to wait; each is twice as long as the
/// one before.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Between the beginnings of two readings lies at least this, however many begin to wait: they share the next
/// one.
const LEAST_BETWEEN: Duration = Duration::from_millis(5);

/// Reads the replicas repeatedly while callers wait, one reading at a time for all of them.
pub(crate) struct ReplicaWatch {
    changes: Arc<dyn AccessChanges>,
    last_begun: Mutex<ReadingNumber>,
    readings: watch::Sender<Reading>,
    /// A caller has begun to wait.
    arrived: Notify,
    is_reading: Mutex<bool>,
    being_struck_off: Mutex<HashSet<ReplicaId>>,
}

/// The last reading; empty if the database did not answer.
#[derive(Clone, Default)]
struct Reading {
    number: ReadingNumber,
    replicas: Option<Arc<RegisteredReplicas>>,
}

/// The readings for one that waits.
pub(crate) struct Readings {
    last_begun: ReadingNumber,
    receiver: watch::Receiver<Reading>,
}

impl ReplicaWatch {
    pub(crate) fn new(changes: Arc<dyn AccessChanges>) -> Self {
        Self {
            changes,
            last_begun: Mutex::default(),
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
            last_begun: *self.last_begun.lock(),
        };
        self.arrived.notify_one();
        let mut is_reading = self.is_reading.lock();
        if !*is_reading {
            *is_reading = true;
            tokio::spawn(on_behalf_of_several_clients(
                Arc::clone(self).read_while_watched(),
            ));
        }
        readings
    }

    async fn read_while_watched(self: Arc<Self>) {
        // If it panics, the next one that waits begins again.
        let _reading = WhileReading(&self.is_reading);
        let mut pause = FIRST_PAUSE;
        while self.is_watched() {
            let begun = Instant::now();
            let number = self.begin_reading();
            let replicas = self.changes.replicas().await.ok().map(Arc::new);
            self.readings.send_replace(Reading { number, replicas });
            sleep_until(begun + LEAST_BETWEEN).await;
            select! {
                () = self.arrived.notified() => pause = FIRST_PAUSE,
                () = sleep(pause) => pause = (2 * pause).min(LONGEST_PAUSE),
            }
        }
    }

    fn begin_reading(&self) -> ReadingNumber {
        let mut last_begun = self.last_begun.lock();
        *last_begun = last_begun.next();
        *last_begun
    }

    /// If not, the next one that waits begins again.
    fn is_watched(&self) -> bool {
        let mut is_reading = self.is_reading.lock();
        *is_reading = self.readings.receiver_count() > 0;
        *is_reading
    }

    /// Strikes off replicas that did not acknowledge in time, after this delay, so that no later revocation
    /// waits for them. The task continues if its handle is dropped. It skips replicas that are being struck
    /// off already.
    pub(crate) fn strike_off(
        self: &Arc<Self>,
        after: Duration,
        replicas: Vec<ReplicaId>,
        unless_seen: ChangeNumber,
    ) -> JoinHandle<()> {
        let mut strike_offs = JoinSet::new();
        for replica in replicas {
            if let Some(strike_off) = StrikeOff::begin(self, replica) {
                strike_offs.spawn(on_behalf_of_several_clients(async move {
                    sleep(after).await;
                    strike_off.finish(unless_seen).await;
                }));
            }
        }
        tokio::spawn(async move { while strike_offs.join_next().await.is_some() {} })
    }
}

/// A strike-off that has begun, over when it is dropped.
struct StrikeOff {
    watch: Arc<ReplicaWatch>,
    replica: ReplicaId,
}

impl StrikeOff {
    /// `None` if the replica is being struck off already.
    fn begin(watch: &Arc<ReplicaWatch>, replica: ReplicaId) -> Option<Self> {
        let is_new = watch.being_struck_off.lock().insert(replica);
        is_new.then(|| Self {
            watch: Arc::clone(watch),
            replica,
        })
    }

    async fn finish(self, unless_seen: ChangeNumber) {
        let replica = self.replica;
        match self.watch.changes.strike_off(replica, unless_seen).await {
            Ok(()) => info!(%replica, "replica struck off: it did not see a change within 5 s"),
            Err(error) => {
                warn!(%replica, cause = sentence(&error), "replica not struck off; the next revocation may wait for it");
            }
        }
    }
}

impl Drop for StrikeOff {
    fn drop(&mut self) {
        self.watch.being_struck_off.lock().remove(&self.replica);
    }
}

impl Readings {
    /// The last reading that had begun when the wait did.
    pub(crate) const fn last_begun(&self) -> ReadingNumber {
        self.last_begun
    }

    /// The next one that was answered.
    pub(crate) async fn next(&mut self) -> (ReadingNumber, Arc<RegisteredReplicas>) {
        while self.receiver.changed().await.is_ok() {
            let reading = self.receiver.borrow_and_update();
            if let Some(replicas) = &reading.replicas {
                return (reading.number, Arc::clone(replicas));
            }
        }
        // The watch was dropped, so there will be no reading.
        std::future::pending().await
    }
}

struct WhileReading<'a>(&'a Mutex<bool>);

impl Drop for WhileReading<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0.lock() = false;
        }
    }
}
