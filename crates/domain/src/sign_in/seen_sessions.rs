//! When console sessions were last seen, kept in memory until it is written.
//!
//! A page adds to memory and waits for no storage. The server writes the entries every few seconds, with
//! [`SessionStore::seen`](crate::sign_in::ports::SessionStore::seen).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use crate::id::SessionId;

/// The sessions of one process whose last sight is not written yet.
///
/// It holds at most as many as its capacity. When it is full, a session that it does not hold is passed over:
/// its next request notes it again.
#[derive(Debug)]
pub struct SeenSessions {
    capacity: usize,
    unwritten: Mutex<BTreeMap<SessionId, DateTime<Utc>>>,
}

impl SeenSessions {
    /// Holds at most that many sessions: some 50 bytes for each.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            unwritten: Mutex::default(),
        }
    }

    /// Notes that a session was seen. Of several moments the latest stays.
    pub fn note(&self, session: SessionId, at: DateTime<Utc>) {
        let mut unwritten = self.unwritten();
        if unwritten.len() < self.capacity || unwritten.contains_key(&session) {
            let latest = unwritten.entry(session).or_insert(at);
            *latest = at.max(*latest);
        }
    }

    /// A session that is to be written, and when it was seen. It stays here until [`Self::forget`].
    #[must_use]
    pub fn next(&self) -> Option<(SessionId, DateTime<Utc>)> {
        let unwritten = self.unwritten();
        unwritten.first_key_value().map(|(session, at)| (*session, *at))
    }

    /// Makes room once a session's sight is written, unless it was seen again meanwhile.
    pub fn forget(&self, session: SessionId, written: DateTime<Utc>) {
        let mut unwritten = self.unwritten();
        if unwritten.get(&session).is_some_and(|at| *at <= written) {
            unwritten.remove(&session);
        }
    }

    /// How many sessions wait to be written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.unwritten().len()
    }

    /// Whether no session is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn unwritten(&self) -> MutexGuard<'_, BTreeMap<SessionId, DateTime<Utc>>> {
        // Nothing in a critical section panics half-way through a change.
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::clock::Clock;
    use crate::testing::Builder;

    #[test]
    fn session_seen_twice_is_queued_once_with_the_latest_time() {
        let make = Builder::new(1);
        let (seen, session, at) = (SeenSessions::new(2), make.ids.next(), make.clock.now());
        let later = at + TimeDelta::seconds(1);
        seen.note(session, later);
        seen.note(session, at);
        assert_eq!((seen.next(), seen.len()), (Some((session, later)), 1));
    }

    #[test]
    fn session_seen_during_its_write_is_queued_again() {
        let make = Builder::new(1);
        let (seen, session, at) = (SeenSessions::new(2), make.ids.next(), make.clock.now());
        let later = at + TimeDelta::seconds(1);
        seen.note(session, at);
        seen.note(session, later);
        seen.forget(session, at);
        assert_eq!(seen.next(), Some((session, later)));
        seen.forget(session, later);
        assert!(seen.is_empty());
    }

    #[test]
    fn full_queue_drops_new_sessions_and_keeps_queued_ones() {
        let make = Builder::new(1);
        let (seen, at) = (SeenSessions::new(2), make.clock.now());
        let sessions: [SessionId; 3] = std::array::from_fn(|_| make.ids.next());
        for session in sessions {
            seen.note(session, at);
        }
        let later = at + TimeDelta::seconds(1);
        seen.note(sessions[0], later);
        assert_eq!((seen.next(), seen.len()), (Some((sessions[0], later)), 2));
    }
}
