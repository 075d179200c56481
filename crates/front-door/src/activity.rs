//! What a connection is doing, and until when it may.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::{config::Deadlines, patience::Patience, serving_state::ServingState};

/// What one connection is doing. Shared by its socket, its requests and its task.
#[derive(Debug)]
pub(crate) struct Activity {
    deadlines: Deadlines,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Since when the client has owed the rest of its headers; once they are here, of its body.
    owing_since: Instant,
    has_unread_body: bool,
}

/// The phases follow one another in this order; after `Idle` comes `Head`.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Waiting for the rest of a request's headers; at first for its first byte too.
    Head,
    /// The application has the request. Body and handler have deadlines of their own.
    Handling,
    /// Sending the answer.
    Answering { until: Instant, is_complete: bool },
    /// Waiting for the next request.
    Idle { until: Instant },
}

impl Activity {
    /// A connection that has just been accepted.
    pub(crate) fn new(deadlines: Deadlines) -> Self {
        Self {
            deadlines,
            state: Mutex::new(State {
                phase: Phase::Head,
                owing_since: Instant::now(),
                has_unread_body: false,
            }),
        }
    }

    /// Bytes came from the client. Only the first byte of a request starts its deadline: those that trickle in after
    /// it do not extend it.
    pub(crate) fn bytes_arrived(&self) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Idle { .. }) {
            state.phase = Phase::Head;
            state.owing_since = Instant::now();
        }
    }

    /// A request's headers are complete.
    pub(crate) fn request_read(&self) {
        let mut state = self.state();
        state.phase = Phase::Handling;
        state.owing_since = Instant::now();
    }

    /// A request will be answered without reading its body to the end.
    pub(crate) fn body_left_unread(&self) {
        self.state().has_unread_body = true;
    }

    /// The answer is known.
    pub(crate) fn answer_begun(&self) {
        self.state().phase = Phase::Answering {
            until: Instant::now() + self.deadlines.response,
            is_complete: false,
        };
    }

    /// All of the answer is in hyper's buffer.
    pub(crate) fn answer_completed(&self) {
        if let Phase::Answering { is_complete, .. } = &mut self.state().phase {
            *is_complete = true;
        }
    }

    /// All of hyper's buffer has been taken by the system.
    pub(crate) fn buffer_sent(&self) {
        let mut state = self.state();
        if matches!(
            state.phase,
            Phase::Answering {
                is_complete: true,
                ..
            }
        ) {
            state.phase = Phase::Idle {
                until: Instant::now() + self.deadlines.keep_alive,
            };
        }
    }

    /// How long to wait for the bytes that the client owes, if it may owe them until then while nobody waits for its place.
    pub(crate) fn patience(&self, until: Instant) -> Patience {
        Patience {
            owing_since: self.state().owing_since,
            until,
            hurried: self.deadlines.hurried,
        }
    }

    /// Until when the client must have moved.
    pub(crate) fn deadline(&self, serving: &ServingState) -> Option<Instant> {
        let State {
            phase, owing_since, ..
        } = *self.state();
        match phase {
            Phase::Head => {
                let patience = self.patience(owing_since + self.deadlines.header_read);
                Some(patience.deadline(serving.hurried_since()))
            }
            Phase::Answering { until, .. } | Phase::Idle { until } => Some(until),
            Phase::Handling => None,
        }
    }

    /// Whether the connection's latest request is answered and no further one has begun.
    pub(crate) fn is_served(&self) -> bool {
        matches!(self.state().phase, Phase::Answering { .. } | Phase::Idle { .. })
    }

    /// Whether the client may still be sending a body that nobody reads.
    pub(crate) fn has_unread_body(&self) -> bool {
        self.state().has_unread_body
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
