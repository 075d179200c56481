//! The verification cache of this server: polls what changed, beside the requests, and keeps the lease.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::access_changes::ReplicaId;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::{AccessChanges, StorageError};
use keyward_verification_cache::{BootClock, Emptied, Next, Replica, VerificationCache};
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::job::{self, RunningJob};

/// How long to rest between two polls: a lease survives several that fail.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Polls from now on, until it is asked to end.
pub(crate) struct ReplicaJob {
    changes: Arc<dyn AccessChanges>,
    clock: Arc<dyn BootClock>,
    id: ReplicaId,
    /// What people recognize it by.
    name: String,
    replica: Replica,
    /// Notified by this process's own changes.
    wake: Arc<Notify>,
    is_failing: bool,
}

impl ReplicaJob {
    pub(crate) fn new(
        changes: Arc<dyn AccessChanges>,
        clock: Arc<dyn BootClock>,
        cache: Arc<VerificationCache>,
        wake: Arc<Notify>,
        id: ReplicaId,
        name: String,
    ) -> Self {
        Self {
            changes,
            clock,
            id,
            name,
            replica: Replica::new(cache),
            wake,
            is_failing: false,
        }
    }

    /// Polls until it is asked to end, and is then removed from the replicas: whoever revokes waits for one that is not.
    pub(crate) fn start(mut self) -> RunningJob {
        job::start("verification cache", |mut end| async move {
            loop {
                let round = self.round().await;
                self.report(round);
                tokio::select! {
                    biased;
                    _ = end.changed() => break,
                    () = self.wake.notified() => {}
                    () = self.changes.hint() => {}
                    () = tokio::time::sleep(POLL_INTERVAL) => {}
                }
            }
            self.leave().await;
        })
    }

    /// Polls, and does what follows until the lease is renewed.
    async fn round(&mut self) -> Result<(), StorageError> {
        let sent = self.clock.now();
        let after = self.replica.last_acknowledged();
        let polled = self.changes.poll(self.id, after).await?;
        let mut next = self.replica.polled(sent, &polled);
        loop {
            next = match next {
                Next::Poll => return Ok(()),
                Next::Acknowledge(acknowledgement) => {
                    if let Some(emptied) = acknowledgement.emptied() {
                        report_emptied(emptied);
                    }
                    let seen = acknowledgement.counter();
                    let is_registered = self.changes.acknowledge(self.id, seen).await?;
                    self.replica.acknowledged(acknowledgement, is_registered)
                }
                Next::Register => {
                    self.replica.begin_registration();
                    let sent = self.clock.now();
                    let counter = self.changes.register(self.id, &self.name).await?;
                    self.replica.registered(sent, counter);
                    info!(replica = %self.id, name = self.name, "verification cache registered");
                    Next::Poll
                }
            };
        }
    }

    /// One line when it begins to fail, and one when it works again.
    fn report(&mut self, round: Result<(), StorageError>) {
        match round {
            Ok(()) if self.is_failing => info!("verification cache polls again"),
            Err(error) if !self.is_failing => warn!(
                cause = sentence(&error),
                "verification cache cannot poll; without a poll for 5 s, every verification asks the database"
            ),
            Ok(()) => {
                self.is_failing = false;
                return;
            }
            Err(_) => return,
        }
        self.is_failing = !self.is_failing;
    }

    async fn leave(mut self) {
        self.replica.leave();
        if let Err(error) = self.changes.leave(self.id).await {
            warn!(
                cause = sentence(&error),
                "this replica could not be removed; revocations may wait for it for 5 s once"
            );
        }
    }
}

fn report_emptied(emptied: Emptied) {
    match emptied {
        Emptied::CounterJumpedBack => {
            warn!(
                "verification cache emptied: the database counts fewer changes than before, as after a restored backup"
            );
        }
        Emptied::GapInLog => {
            info!("verification cache emptied: more changed since the last poll than the database lists");
        }
        Emptied::OtherAcknowledgement => {
            info!("verification cache emptied: the database does not hold its last acknowledgement");
        }
    }
}
