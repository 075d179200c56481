//! The line of one connection to the server, and whether the server is still heard on it.
//!
//! What takes long is slow, or its line is dead. The server ends a statement after the time of one step, and says so. A line on
//! which nothing was heard for longer than that is taken for dead; one that answers late is only far.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::connection::InstrumentationEvent;
use diesel_async::{AsyncConnection, AsyncPgConnection};
use tokio::time::{Instant, timeout_at};

/// When the server answered a statement on the connection last, since it was taken for some work.
#[derive(Clone)]
pub(super) struct Line {
    heard_at: Arc<Mutex<Instant>>,
}

impl Line {
    pub(super) fn of(connection: &mut AsyncPgConnection) -> Self {
        let line = Self {
            heard_at: Arc::new(Mutex::new(Instant::now())),
        };
        let noting = line.clone();
        connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if matches!(event, InstrumentationEvent::FinishQuery { .. }) {
                *noting.heard_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
        });
        line
    }

    fn heard_at(&self) -> Instant {
        *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when nothing was heard, if that is for longer than a statement may take.
    pub(super) fn dead_since(&self, statement: Duration) -> Option<Instant> {
        let heard_at = self.heard_at();
        (heard_at.elapsed() >= statement).then_some(heard_at)
    }

    /// What comes of work on the line that is to be done by some moment. Late work is waited for while the server is heard,
    /// until it is given up: then there is nothing.
    pub(super) async fn wait_for<T>(
        &self,
        mut work: impl Future<Output = T> + Unpin,
        statement: Duration,
        answer_by: Instant,
        give_up: Instant,
    ) -> Option<T> {
        loop {
            let until = answer_by.max(self.heard_at() + statement).min(give_up);
            match timeout_at(until, &mut work).await {
                Ok(done) => return Some(done),
                Err(_) if until < give_up && self.dead_since(statement).is_none() => {}
                Err(_) => return None,
            }
        }
    }
}
