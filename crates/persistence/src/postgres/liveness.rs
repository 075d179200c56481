//! Detects dead connections: whether the server still answers on a connection.
//!
//! A late answer means a slow statement or a dead connection. The server cancels a statement after the step
//! timeout and reports that. A connection on which nothing was received for twice that time counts as dead:
//! the report had another step timeout to arrive.

use std::sync::Arc;
use std::time::Duration;

use diesel::connection::InstrumentationEvent;
use diesel_async::{AsyncConnection, AsyncPgConnection};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

/// When the server last answered a statement on the connection, since the connection was taken from the pool.
#[derive(Clone)]
pub(super) struct Liveness {
    heard_at: Arc<Mutex<Instant>>,
}

impl Liveness {
    pub(super) fn of(connection: &mut AsyncPgConnection) -> Self {
        let liveness = Self {
            heard_at: Arc::new(Mutex::new(Instant::now())),
        };
        let noting = liveness.clone();
        connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if matches!(event, InstrumentationEvent::FinishQuery { .. }) {
                *noting.heard_at.lock() = Instant::now();
            }
        });
        liveness
    }

    fn heard_at(&self) -> Instant {
        *self.heard_at.lock()
    }

    /// The time of the last answer, if that is so long ago that the connection is dead.
    pub(super) fn dead_since(&self, step: Duration) -> Option<Instant> {
        let heard_at = self.heard_at();
        (heard_at.elapsed() >= Self::silence(step)).then_some(heard_at)
    }

    /// How long a connection must be silent to count as dead.
    pub(super) fn silence(step: Duration) -> Duration {
        2 * step
    }

    /// Waits for work until its deadline. Late work is waited for as long as the server answers, until
    /// `give_up`; then the result is `None`.
    pub(super) async fn wait_for<T>(
        &self,
        mut work: impl Future<Output = T> + Unpin,
        step: Duration,
        answer_by: Instant,
        give_up: Instant,
    ) -> Option<T> {
        loop {
            let until = answer_by.max(self.heard_at() + Self::silence(step)).min(give_up);
            match timeout_at(until, &mut work).await {
                Ok(done) => return Some(done),
                Err(_) if until < give_up && self.dead_since(step).is_none() => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;

    use tokio::time::{advance, sleep};

    use super::*;

    const STEP: Duration = Duration::from_millis(1_500);

    fn liveness() -> Liveness {
        Liveness {
            heard_at: Arc::new(Mutex::new(Instant::now())),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn statement_ended_by_a_distant_server_is_no_dead_connection() {
        let begun = Instant::now();
        advance(Duration::from_secs(1)).await;
        let liveness = liveness();
        let (answer_by, give_up) = (begun + Duration::from_millis(1_900), begun + 3 * STEP);
        // The server has said that it ended the statement, but not heard yet.
        let ended = pin!(sleep(STEP + Duration::from_millis(300)));
        let waited = liveness.wait_for(ended, STEP, answer_by, give_up).await;
        assert!(waited.is_some() && liveness.dead_since(STEP).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn connection_is_dead_after_two_silent_steps() {
        let (begun, liveness) = (Instant::now(), liveness());
        let nothing = pin!(pending::<()>());
        let waited = liveness
            .wait_for(nothing, STEP, begun + STEP, begun + 9 * STEP)
            .await;
        assert_eq!(waited, None);
        assert_eq!(begun.elapsed(), 2 * STEP);
        assert_eq!(liveness.dead_since(STEP), Some(begun));
    }
}
