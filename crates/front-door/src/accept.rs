//! The next connection, with a pause after an error.

use std::{io, time::Duration};

use tokio::time::{Instant, sleep};
use tracing::warn;

/// Long enough not to spin while the process is out of open files, short enough not to be noticed.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// At most one warning in this time: each connection that closes allows another one, before the next error.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// Accepts connections.
#[derive(Default)]
pub(crate) struct Acceptor {
    warned_at: Option<Instant>,
}

impl Acceptor {
    /// Accepts until it succeeds. Never spins: when the process or the machine is out of something, the
    /// connection stays in the kernel's queue and `accept` would fail again at once.
    pub(crate) async fn next<C, A: Future<Output = io::Result<C>>>(
        &mut self,
        mut accept: impl FnMut() -> A,
    ) -> C {
        loop {
            match accept().await {
                Ok(connection) => return connection,
                Err(error) if concerns_one_connection(&error) => {}
                Err(error) => {
                    if self.is_warning_due() {
                        warn!(%error, "cannot accept connections; retrying");
                    }
                    sleep(PAUSE_AFTER_ERROR).await;
                }
            }
        }
    }

    fn is_warning_due(&mut self) -> bool {
        let is_due = self.warned_at.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL);
        if is_due {
            self.warned_at = Some(Instant::now());
        }
        is_due
    }
}

/// Whether the client gave up while it was in the queue: the next one may be fine.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn accept_errors_do_not_cause_a_busy_loop() {
        let mut attempts = 0;
        let mut acceptor = Acceptor::default();
        let accepting = acceptor.next(|| {
            attempts += 1;
            ready(Err::<(), _>(io::Error::other("too many open files")))
        });
        assert!(timeout(Duration::from_secs(1), accepting).await.is_err());
        assert!((9..=11).contains(&attempts), "{attempts} attempts in a second");
    }

    #[tokio::test(start_paused = true)]
    async fn client_leaving_the_queue_delays_no_other() {
        let started = Instant::now();
        let mut clients = vec![
            Ok("served"),
            Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
        ];
        let mut acceptor = Acceptor::default();
        let accepted = acceptor
            .next(|| ready(clients.pop().unwrap_or(Ok("nobody"))))
            .await;
        assert_eq!((accepted, started.elapsed()), ("served", Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn accept_errors_between_connections_are_warned_of_once_a_second() {
        let mut acceptor = Acceptor::default();
        let mut warnings = 0;
        for _ in 0..100 {
            warnings += usize::from(acceptor.is_warning_due());
            sleep(PAUSE_AFTER_ERROR).await;
        }
        assert_eq!(warnings, 10);
    }
}
