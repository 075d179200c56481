//! The connections of lookups, and when lookups stay away from their callers' threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diesel::prelude::SqliteConnection;
use tokio::time::Instant;

use super::database_file::{Access, DatabaseFile};
use crate::task;

/// How long a lookup may take that holds up its thread. From a cache it takes some 10 µs.
pub(super) const TOO_LONG: Duration = Duration::from_millis(2);

/// How long no lookup runs on its caller's thread then.
pub(super) const REST: Duration = Duration::from_secs(1);

/// The most connections; each worker thread uses one at a time.
const MOST: usize = 16;

/// Connections that never wait.
pub(super) struct Lookups {
    idle: Mutex<Vec<SqliteConnection>>,
    /// Those that are idle, in use or being opened.
    count: AtomicUsize,
    /// Whether the latest lookup took too long.
    was_slow: AtomicBool,
    resting_until: Mutex<Option<Instant>>,
}

impl Lookups {
    pub(super) fn new() -> Self {
        Self {
            idle: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
            was_slow: AtomicBool::new(false),
            resting_until: Mutex::new(None),
        }
    }

    /// An idle connection, unless lookups pause. If all are in use, another one is opened in the background.
    pub(super) fn take(self: &Arc<Self>, file: &Arc<DatabaseFile>, now: Instant) -> Option<SqliteConnection> {
        if self.resting_until().is_some_and(|until| now < until) {
            return None;
        }
        let idle = self.idle().pop();
        if idle.is_none() {
            self.open_another(file);
        }
        idle
    }

    /// Opens a connection in the background, unless there are enough.
    fn open_another(self: &Arc<Self>, file: &Arc<DatabaseFile>) {
        let more = |count| (count < MOST).then_some(count + 1);
        if self
            .count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_err()
        {
            return;
        }
        let (lookups, file) = (Arc::clone(self), Arc::clone(file));
        // Nobody waits for it. An ordinary read reports why a connection cannot be opened.
        drop(task::spawn_blocking(move || {
            match file.connect_patiently(Access::Read, Duration::ZERO) {
                Ok(connection) => lookups.idle().push(connection),
                Err(_) => lookups.discard(),
            }
        }));
    }

    pub(super) fn put_back(&self, connection: SqliteConnection) {
        self.idle().push(connection);
    }

    pub(super) fn discard(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records how long a lookup took.
    pub(super) fn took(&self, time: Duration, now: Instant) {
        let is_slow = time > TOO_LONG;
        let was_slow = self.was_slow.load(Ordering::Relaxed);
        if is_slow != was_slow {
            self.was_slow.store(is_slow, Ordering::Relaxed);
        } else if is_slow {
            *self.resting_until() = Some(now + REST);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn resting_until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.resting_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
