//! The wait of a revocation for all replicas.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::AccessChanges;
use keyward_domain::propagation::Propagation;
use keyward_persistence::for_current_client;
use keyward_verification_cache::{BootClock, Verdict, Wait};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// The first pause before the replicas are looked at again; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How much longer the answer waits for the strike-off, which needs the database.
const STRIKE_OFF_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits until every replica has acknowledged what was committed, or has lost its lease.
pub(crate) struct ReplicaWait {
    changes: Arc<dyn AccessChanges>,
    clock: Arc<dyn BootClock>,
    /// Wakes this process's own replica, if there is one.
    wake: Arc<Notify>,
}

impl ReplicaWait {
    pub(crate) fn new(changes: Arc<dyn AccessChanges>, clock: Arc<dyn BootClock>, wake: Arc<Notify>) -> Self {
        Self { changes, clock, wake }
    }
}

#[async_trait]
impl Propagation for ReplicaWait {
    /// Ends with the strike-off, as a rule: a command ends with it.
    async fn wait(&self) {
        self.wake.notify_one();
        // A task of its own, since a client may leave before: a dead replica is struck off all the same, or everybody would
        // wait for it again.
        let seen = seen_by_all(Arc::clone(&self.changes), Arc::clone(&self.clock));
        if tokio::spawn(for_current_client(seen)).await.is_err() {
            // It panicked. Without it nobody knows, but no lease lasts longer.
            sleep(Wait::LONGEST).await;
        }
    }
}

async fn seen_by_all(changes: Arc<dyn AccessChanges>, clock: Arc<dyn BootClock>) {
    let begun = clock.now();
    let mut wait = Wait::begin(begun);
    let mut pause = FIRST_PAUSE;
    loop {
        let now = clock.now();
        if wait.is_over(now) {
            // It goes on by itself if it takes longer.
            let strike_off = tokio::spawn(for_current_client(strike_off(changes, clock, wait)));
            let _ = timeout(STRIKE_OFF_TIMEOUT, strike_off).await;
            return;
        }
        let left = Wait::LONGEST.saturating_sub(now.elapsed_since(begun));
        if let Ok(Ok(replicas)) = timeout(left, changes.replicas()).await
            && wait.replicas(clock.now(), &replicas) == Verdict::Done
        {
            return;
        }
        sleep(pause.min(left)).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Strikes off the replicas that were waited for in vain, so that nobody else waits for them.
async fn strike_off(changes: Arc<dyn AccessChanges>, clock: Arc<dyn BootClock>, mut wait: Wait) {
    let Ok(replicas) = changes.replicas().await else {
        return;
    };
    let Verdict::StrikeOff(behind, unless_seen) = wait.replicas(clock.now(), &replicas) else {
        return;
    };
    for replica in behind {
        match changes.strike_off(replica, unless_seen).await {
            Ok(()) => info!(%replica, "replica struck off: it did not see a change within 5 s"),
            Err(error) => {
                warn!(%replica, cause = sentence(&error), "replica not struck off; the next revocation may wait for it");
            }
        }
    }
}
