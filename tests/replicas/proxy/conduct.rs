//! How the network treats each connection.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How a proxy passes on.
#[derive(Clone)]
pub(super) struct Conduct {
    /// The target of new connections.
    pub(super) to: SocketAddr,
    /// Nothing is passed on, neither data nor the end of a connection; it is kept for later.
    pub(super) is_cut: bool,
    /// How long an answer is on its way.
    pub(super) delay: Duration,
    /// Except on connections that listen for changes.
    pub(super) spares_listeners: bool,
    pub(super) silent: SilentListeners,
}

/// On which of the connections that listen for changes nothing is passed on.
#[derive(Clone, Copy)]
pub(super) enum SilentListeners {
    None,
    BegunBefore(Instant),
    All,
}

/// The statement with which a client asks for notifications.
const LISTEN: &[u8] = b"LISTEN ";

pub(super) struct Connection {
    begun: Instant,
    listens: AtomicBool,
}

impl Connection {
    pub(super) fn begin() -> Self {
        Self {
            begun: Instant::now(),
            listens: AtomicBool::new(false),
        }
    }

    /// The client has sent this.
    pub(super) fn asked(&self, asked: &[u8]) {
        if asked.windows(LISTEN.len()).any(|part| part == LISTEN) {
            self.listens.store(true, Ordering::SeqCst);
        }
    }

    fn listens(&self) -> bool {
        self.listens.load(Ordering::SeqCst)
    }
}

impl Conduct {
    pub(super) const fn leading_to(to: SocketAddr) -> Self {
        Self {
            to,
            is_cut: false,
            delay: Duration::ZERO,
            spares_listeners: false,
            silent: SilentListeners::None,
        }
    }

    /// How long an answer is on its way.
    pub(super) fn delay_on(&self, connection: &Connection) -> Duration {
        let is_spared = self.spares_listeners && connection.listens();
        if is_spared { Duration::ZERO } else { self.delay }
    }

    fn passes_on(&self, connection: &Connection) -> bool {
        let may_listen = match self.silent {
            SilentListeners::None => true,
            SilentListeners::BegunBefore(moment) => connection.begun >= moment,
            SilentListeners::All => false,
        };
        !self.is_cut && (may_listen || !connection.listens())
    }
}

/// Waits until something may be passed on.
pub(super) async fn until_mended(
    conducts: &mut watch::Receiver<Conduct>,
    connection: &Connection,
) -> io::Result<Conduct> {
    let conduct = conducts.wait_for(|conduct| conduct.passes_on(connection)).await;
    conduct
        .map(|conduct| conduct.clone())
        .map_err(|_| io::ErrorKind::ConnectionAborted.into())
}
