//! Checks in the background whether the storage accepts changes: a server that can only read is not ready.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_persistence::TrialFailure;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{error, info, warn};

use crate::job::supervised;
use crate::store::StorageProbe;

/// How long to rest after a change that worked.
const TRIAL_INTERVAL: Duration = Duration::from_secs(5);

/// How long to rest after one that failed, so that its end is noticed soon.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// How long changes count as possible after a successful trial, if none was refused since.
pub(crate) const SUCCESS_TTL: Duration = Duration::from_secs(15);

/// Whether the database accepts changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changes {
    /// No trial has finished yet.
    Untried,
    /// A change succeeded at this time, and none was refused since.
    Worked(Instant),
    /// Changes are refused.
    Refused,
    /// Refused except for changes that need no disk space, or may use the reserve.
    DiskFull,
    /// The database file is damaged, whether changes succeed or not.
    Damaged,
}

impl Changes {
    /// Whether a change succeeded recently, and none was refused since.
    pub(crate) fn work(&self) -> bool {
        matches!(self, Self::Worked(at) if at.elapsed() < SUCCESS_TTL)
    }
}

/// Makes a trial change now and then.
pub(crate) struct TrialChanges {
    storage: Arc<dyn StorageProbe>,
    sender: watch::Sender<Changes>,
    is_failing: bool,
}

impl TrialChanges {
    /// Also returns a receiver of their results.
    pub(crate) fn new(storage: Arc<dyn StorageProbe>) -> (Self, watch::Receiver<Changes>) {
        let (sender, changes) = watch::channel(Changes::Untried);
        let trial = Self {
            storage,
            sender,
            is_failing: false,
        };
        (trial, changes)
    }

    /// Makes one, and others until it is dropped; one that has begun then finishes in the storage.
    pub(crate) async fn run(mut self) {
        loop {
            let pause = supervised("trial changes", self.make_one()).await;
            sleep(pause.unwrap_or(RETRY_INTERVAL)).await;
        }
    }

    /// Makes one, and returns the pause before the next.
    async fn make_one(&mut self) -> Duration {
        let failure = self.storage.try_change().await.err();
        self.report(failure.as_ref());
        match &failure {
            None => drop(self.sender.send_replace(Changes::Worked(Instant::now()))),
            Some(TrialFailure::Refused(_)) => drop(self.sender.send_replace(Changes::Refused)),
            Some(TrialFailure::Damaged(_)) => drop(self.sender.send_replace(Changes::Damaged)),
            Some(TrialFailure::DiskFull(_)) => drop(self.sender.send_replace(Changes::DiskFull)),
            // The database may be busy. If it stays busy, the last success becomes old.
            Some(TrialFailure::Slow(_)) => {}
        }
        if failure.is_some() {
            RETRY_INTERVAL
        } else {
            TRIAL_INTERVAL
        }
    }

    /// One line when changes begin to fail, and one when they work again; and one of a damaged file, which
    /// stays damaged while it is served.
    fn report(&mut self, failure: Option<&TrialFailure>) {
        match failure {
            Some(TrialFailure::Damaged(_)) if *self.sender.borrow() == Changes::Damaged => {}
            Some(TrialFailure::Damaged(error)) => error!(
                cause = sentence(error),
                hint = "stop the server first; the commands are in docs/choosing-a-database.md (Back up)",
                "database file is damaged"
            ),
            Some(error) if !self.is_failing => warn!(cause = sentence(error), "changes fail"),
            None if self.is_failing => info!("changes work again"),
            Some(_) | None => {}
        }
        self.is_failing = failure.is_some();
    }
}
