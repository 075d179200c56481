//! How the process learns that it shall end.

use std::fs;
use std::future::pending;
use std::io;
use std::pin::pin;
use std::process;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::logging;

/// Some programs, such as `timeout`, signal a process and then its group, so a second signal within this time
/// is the same request.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// The signals by which people (SIGINT, Ctrl-C), service managers (SIGTERM) and terminals that are closed
/// (SIGHUP) ask a process to end.
pub(crate) struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl ShutdownSignals {
    /// From now on these signals no longer end the process by themselves.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: is_ended_by_hangup()
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// Waits for the next of them.
    pub(crate) async fn next(&mut self) {
        let name = self.received().await;
        info!(signal = name, "shutting down");
    }

    /// Waits for the first; after a second, another one ends the process at once, after a last act. A hangup
    /// does not: a shell sends it to its jobs, and the system sends it once more when the shell has ended.
    pub(crate) async fn first(mut self, last_act: impl FnOnce() + Send + 'static) {
        self.next().await;
        self.hangup = None;
        tokio::spawn(async move {
            ignore_repetitions(&mut self).await;
            info!("still shutting down: another signal stops it at once");
            self.next().await;
            warn!("second signal: shutting down without waiting for requests in flight");
            last_act();
            logging::flush();
            process::exit(1);
        });
    }
}

trait Signals {
    /// Waits for the next, and returns its name.
    fn received(&mut self) -> impl Future<Output = &'static str> + Send;
}

impl Signals for ShutdownSignals {
    async fn received(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            () = hung_up(self.hangup.as_mut()) => "SIGHUP",
        }
    }
}

async fn ignore_repetitions(signals: &mut impl Signals) {
    let mut is_over = pin!(sleep(SAME_REQUEST));
    loop {
        tokio::select! {
            // A signal that was received before is ignored, too.
            biased;
            _ = signals.received() => {}
            () = &mut is_over => return,
        }
    }
}

async fn hung_up(hangup: Option<&mut Signal>) {
    match hangup {
        Some(hangup) => {
            hangup.recv().await;
        }
        None => pending().await,
    }
}

/// Whether SIGHUP would end the process, which `nohup` prevents by having it ignored. If that cannot be
/// determined, the signal is not handled.
fn is_ended_by_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_signals(&status).is_some_and(|ignored| ignored & HANGUP == 0)
}

/// SIGHUP, which is signal 1, in a set of signals.
const HANGUP: u64 = 1;

/// The set of ignored signals, by the file `status` that proc(5) describes.
fn ignored_signals(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio::time::{Instant, advance};

    use super::*;

    impl Signals for UnboundedReceiver<&'static str> {
        async fn received(&mut self) -> &'static str {
            self.recv().await.unwrap()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn signals_are_ignored_for_one_second_after_the_first() {
        let (sender, mut signals) = unbounded_channel();
        let first = Instant::now();
        sender.send("at once").unwrap();
        let late = async {
            advance(Duration::from_millis(999)).await;
            sender.send("soon").unwrap();
        };
        tokio::join!(ignore_repetitions(&mut signals), late);
        assert_eq!(first.elapsed(), SAME_REQUEST);
        assert!(signals.is_empty());
        sender.send("impatient").unwrap();
        assert_eq!(signals.recv().await, Some("impatient"));
    }
}
