//! How the process learns that it shall end.

use std::io;
use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::logging;

/// The signals by which people (SIGINT, Ctrl-C) and service managers (SIGTERM) ask a process to end.
pub(crate) struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl ShutdownSignals {
    /// From now on these signals no longer end the process by themselves.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next of them.
    pub(crate) async fn next(&mut self) {
        let name = tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        };
        info!(signal = name, "shutting down");
    }

    /// Waits for the first; from then on a second one ends the process at once, after a last act.
    pub(crate) async fn first(mut self, last_act: impl FnOnce() + Send + 'static) {
        self.next().await;
        tokio::spawn(async move {
            self.next().await;
            warn!("second signal: shutting down without waiting for requests in flight");
            last_act();
            logging::flush();
            process::exit(1);
        });
    }
}
