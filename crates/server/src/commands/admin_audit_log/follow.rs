//! Prints the audit log in the order of commits, to its end or until the reader closes the pipe.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use keyward_audit_export::json_lines;
use keyward_domain::administration::{AuditFollower, Authority, FollowedEvents};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::organization::Slug;
use keyward_domain::ports::{ReadFeedError, StorageError};
use keyward_persistence::postgres::MigrateError;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::commands::Failure;
use crate::commands::organization::authority_over;
use crate::composition::Composition;
use crate::output::{self, OutputError};
use crate::shutdown::ShutdownSignals;
use crate::storage::OpenError;
use crate::store::{StorageRefusal, Store};

/// The pause before the log is read again after its last event, or after the database did not answer.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Prints events until a shutdown signal comes or the reader closes the pipe. It waits for a database that
/// does not answer, and fails if the database refuses the connection.
pub(super) async fn follow(
    store: impl Future<Output = Result<Arc<dyn Store>, OpenError>>,
    follower: impl AsyncFnOnce(Arc<dyn Store>, &mut Outage) -> Result<AuditFollower, Failure>,
) -> Result<(), Failure> {
    let mut signals = ShutdownSignals::listen().map_err(Failure::Process)?;
    let print = async {
        let store = store.await?;
        let mut outage = Outage {
            store: Arc::clone(&store),
            is_on: false,
        };
        let events = follower(store, &mut outage).await?;
        print_for_ever(events, outage).await
    };
    tokio::select! {
        biased;
        () = signals.next() => Ok(()),
        () = reader_leaves() => Ok(()),
        ended = print => ended,
    }
}

/// Whether the database does not answer. Logs when that begins and when it ends.
pub(super) struct Outage {
    store: Arc<dyn Store>,
    is_on: bool,
}

impl Outage {
    /// Waits before the next attempt, if it may succeed. If the database was cut off, the outcome may be
    /// unknown, too. A server that refuses this process would refuse it again.
    async fn wait(&mut self, error: StorageError) -> Result<(), Failure> {
        match error {
            StorageError::Unavailable(_) | StorageError::OutcomeUnknown(_) => {}
            StorageError::Defect(_) | StorageError::Corrupt { .. } => return Err(error.into()),
        }
        match self.store.refusal().await {
            Some(StorageRefusal::Connection(refusal)) => {
                return Err(OpenError::Migrate(MigrateError::Refused(refusal)).into());
            }
            Some(StorageRefusal::File(moved)) => return Err(OpenError::Moved(moved).into()),
            None => {}
        }
        if !self.is_on {
            warn!(cause = sentence(&error), "waiting for the database");
            self.is_on = true;
        }
        sleep(POLL_INTERVAL).await;
        Ok(())
    }

    fn is_over(&mut self) {
        if self.is_on {
            info!("database answers again");
            self.is_on = false;
        }
    }

    pub(super) async fn wait_for_authority(
        &mut self,
        composition: &Composition,
        slug: &Slug,
    ) -> Result<Authority, Failure> {
        loop {
            match authority_over(composition, slug).await {
                Err(Failure::Storage(error)) => self.wait(error).await?,
                authority => return authority,
            }
        }
    }
}

/// Prints the events up to the present end of the log.
pub(super) async fn print_to_the_end(events: AuditFollower) -> Result<(), Failure> {
    let mut events = events.to_the_end();
    loop {
        let followed = events.next().await.map_err(failure)?;
        if !print(&followed).await? || !followed.has_more {
            return Ok(());
        }
    }
}

async fn print_for_ever(mut events: AuditFollower, mut outage: Outage) -> Result<(), Failure> {
    loop {
        match events.next().await {
            Ok(followed) => {
                outage.is_over();
                if !print(&followed).await? {
                    return Ok(());
                }
                if !followed.has_more {
                    sleep(POLL_INTERVAL).await;
                }
            }
            Err(ReadFeedError::Storage(error)) => outage.wait(error).await?,
            Err(error @ ReadFeedError::UnknownPosition(_)) => return Err(failure(error)),
        }
    }
}

/// Returns whether there is still a reader. It writes on a thread of its own, because a reader that pauses
/// must not keep this process from shutting down.
async fn print(followed: &FollowedEvents) -> Result<bool, Failure> {
    if followed.were_some_removed {
        warn!("events were purged before they could be printed");
    }
    if followed.events.is_empty() {
        return Ok(true);
    }
    let lines = json_lines::of_followed(followed)?;
    let written = spawn_blocking(move || output::answer(&lines)).await;
    match written.map_err(|error| OutputError::from(io::Error::other(error)))? {
        Err(error) if error.is_broken_pipe() => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

/// Waits until the reader closes the pipe, which a write would notice only at the next event. If standard
/// output is no pipe, this never returns.
async fn reader_leaves() {
    #[expect(
        deprecated,
        reason = "its replacement is `unsafe`, and standard output stays open as long as the process"
    )]
    let registered = AsyncFd::with_interest(io::stdout(), Interest::ERROR);
    let Ok(output) = registered else {
        return pending().await;
    };
    if output.ready(Interest::ERROR).await.is_err() {
        pending::<()>().await;
    }
}

fn failure(error: ReadFeedError) -> Failure {
    match error {
        ReadFeedError::UnknownPosition(position) => Failure::PositionUnknown(position),
        ReadFeedError::Storage(error) => error.into(),
    }
}
