//! The connections of lookups that run on their callers' threads, and how many threads these may hold up.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use diesel::prelude::SqliteConnection;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::database_file::{Access, DatabaseFile};
use crate::task;

/// The longest that a lookup should hold up its thread. If the file is in a cache, it takes some 10 µs.
pub(super) const SLOW_AFTER: Duration = Duration::from_millis(2);

/// How long no lookup runs on its caller's thread after two slow ones.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// How long timers and sockets may go without attention after a lookup began to hang.
const WAKE_INTERVAL: Duration = Duration::from_millis(250);

/// Connections without a busy timeout. At most as many are in use as leave one worker thread of the runtime
/// free, so that timers, and with them all deadlines, work while the disk hangs. There are never more than
/// that.
pub(super) struct LookupConnections {
    idle: Mutex<Vec<SqliteConnection>>,
    in_use: Arc<AtomicUsize>,
    was_slow: AtomicBool,
    pub(super) paused_until: Mutex<Option<Instant>>,
    /// Whether a thread [wakes workers](Self::wake_workers), once it was started.
    wakes_workers: OnceLock<bool>,
}

/// The right to use or to open one connection, until it is dropped.
struct Permit(Arc<LookupConnections>);

/// A connection in use. It is closed when this is dropped.
pub(super) struct LookupConnection {
    pub(super) connection: SqliteConnection,
    permit: Permit,
}

/// Why a lookup gets no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoConnection {
    /// Others use as many as there may be, as a rule for some microseconds more.
    InUse,
    /// Lookups pause, or there is no connection yet, or there will be none.
    Unavailable,
}

impl LookupConnections {
    pub(super) fn new() -> Self {
        Self {
            idle: Mutex::new(Vec::new()),
            in_use: Arc::default(),
            was_slow: AtomicBool::new(false),
            paused_until: Mutex::new(None),
            wakes_workers: OnceLock::new(),
        }
    }

    /// An idle connection, unless lookups pause or as many are in use as may be. If none is idle, one is
    /// opened in the background.
    pub(super) fn take(
        self: &Arc<Self>,
        file: &Arc<DatabaseFile>,
        now: Instant,
    ) -> Result<LookupConnection, NoConnection> {
        if self.paused_until.lock().is_some_and(|until| now < until) {
            return Err(NoConnection::Unavailable);
        }
        let permit = self.permit()?;
        let idle = self.idle.lock().pop();
        if let Some(connection) = idle {
            return Ok(LookupConnection { connection, permit });
        }
        let file = Arc::clone(file);
        // In the background. An ordinary read reports why a connection cannot be opened.
        drop(task::spawn_blocking(move || {
            if let Ok(connection) = file.connect_with_wait(Access::Read, Duration::ZERO) {
                LookupConnection { connection, permit }.put_back();
            }
        }));
        Err(NoConnection::Unavailable)
    }

    fn permit(self: &Arc<Self>) -> Result<Permit, NoConnection> {
        let Ok(runtime) = Handle::try_current() else {
            return Err(NoConnection::Unavailable);
        };
        let workers = runtime.metrics().num_workers();
        if workers < 2 || !self.wakes_workers.get_or_init(|| self.wake_workers(runtime)) {
            return Err(NoConnection::Unavailable);
        }
        let one_more = |in_use| (in_use + 1 < workers).then_some(in_use + 1);
        self.in_use
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .map_err(|_| NoConnection::InUse)?;
        Ok(Permit(Arc::clone(self)))
    }

    /// Starts a thread that wakes a worker thread of the runtime now and then while lookups are made, until
    /// the store is closed. Returns whether it started.
    ///
    /// One of the idle worker threads waits for timers and sockets, and the others wait for it to wake them.
    /// If its only task is a lookup that hangs, it wakes none of them, and no thread waits for timers and
    /// sockets until a task comes from outside of the runtime.
    fn wake_workers(&self, runtime: Handle) -> bool {
        // Not the connections themselves: they are closed with the store, on its thread.
        let in_use = Arc::downgrade(&self.in_use);
        let waking = move || {
            while let Some(in_use) = in_use.upgrade() {
                if in_use.load(Ordering::Relaxed) > 0 {
                    drop(runtime.spawn(async {}));
                }
                drop(in_use);
                thread::sleep(WAKE_INTERVAL);
            }
        };
        let thread = thread::Builder::new().name("keyward-wake".to_owned());
        thread.spawn(waking).is_ok()
    }

    /// Pauses lookups after two slow ones in a row.
    pub(super) fn record_duration(&self, duration: Duration, now: Instant) {
        let is_slow = duration > SLOW_AFTER;
        let was_slow = self.was_slow.load(Ordering::Relaxed);
        if is_slow != was_slow {
            self.was_slow.store(is_slow, Ordering::Relaxed);
        } else if is_slow {
            *self.paused_until.lock() = Some(now + PAUSE);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LookupConnection {
    pub(super) fn put_back(self) {
        let Self { connection, permit } = self;
        permit.0.idle.lock().push(connection);
    }
}
