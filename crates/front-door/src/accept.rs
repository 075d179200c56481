//! The next connection, with a pause after an error.

use std::{io, time::Duration};

use tokio::time::sleep;
use tracing::warn;

/// Long enough not to spin while the process is out of open files, short enough not to be noticed.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// Accepts until it succeeds. Never spins: when the process or the machine is out of something, the
/// connection stays in the kernel's queue and `accept` would fail again at once.
pub(crate) async fn next<C, A: Future<Output = io::Result<C>>>(mut accept: impl FnMut() -> A) -> C {
    loop {
        match accept().await {
            Ok(connection) => return connection,
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                warn!(%error, "cannot accept connections; retrying");
                sleep(PAUSE_AFTER_ERROR).await;
            }
        }
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
        let accepting = next(|| {
            attempts += 1;
            ready(Err::<(), _>(io::Error::other("too many open files")))
        });
        assert!(timeout(Duration::from_secs(1), accepting).await.is_err());
        assert!((9..=11).contains(&attempts), "{attempts} attempts in a second");
    }

    #[tokio::test(start_paused = true)]
    async fn client_leaving_the_queue_delays_no_other() {
        let started = tokio::time::Instant::now();
        let mut clients = vec![
            Ok("served"),
            Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
        ];
        let accepted = next(|| ready(clients.pop().unwrap_or(Ok("nobody")))).await;
        assert_eq!((accepted, started.elapsed()), ("served", Duration::ZERO));
    }
}
