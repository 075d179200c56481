//! Accepts, counts and drains.

use std::{iter, net::SocketAddr, pin::pin, sync::Arc};

use futures_util::future::poll_immediate;
use hyper::server::conn::http1;
use poem::Endpoint;
use rustix::net::sockopt;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::{JoinError, JoinSet, coop},
    time::{Instant, sleep, timeout},
};
use tracing::{error, info, warn};

use crate::{
    accept::Acceptor,
    config::{ConfigError, FrontDoorConfig},
    connection,
    exchange::Exchanges,
    listen::BACKLOG,
    occupancy::{Occupancy, log_saturation},
    proxy_warnings::ProxyWarnings,
    security_headers::SecurityHeaders,
    serving_state::{self, Readiness, ServingState},
    unsent::UnsentAnswers,
};

/// The server in front of every HTTP adapter.
#[derive(Debug)]
pub struct FrontDoor {
    config: FrontDoorConfig,
    connections: usize,
    slots: Arc<Semaphore>,
    serving: watch::Sender<ServingState>,
}

/// How serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still open at the drain deadline and were cut off.
    pub cut_off: usize,
}

impl FrontDoor {
    /// Takes a configuration that can work.
    ///
    /// # Errors
    /// Says which setting cannot, and what to set instead.
    pub fn new(config: FrontDoorConfig) -> Result<Self, ConfigError> {
        let connections = config.connection_cap()?;
        Ok(Self {
            config,
            connections,
            slots: Arc::new(Semaphore::new(connections)),
            serving: watch::Sender::new(ServingState::default()),
        })
    }

    /// Whether this server wants new requests; for `/readyz`.
    pub fn readiness(&self) -> Readiness {
        Readiness(self.serving.subscribe())
    }

    /// How many connections are in use; for metrics.
    pub fn occupancy(&self) -> Occupancy {
        Occupancy {
            slots: self.slots.clone(),
            limit: self.connections,
            serving: self.serving.subscribe(),
        }
    }

    /// Serves `app` on `listener` until `shutdown` is ready and the connections have drained. From then on it
    /// is not ready; after [`not_ready_notice`](crate::Deadlines::not_ready_notice) it accepts no
    /// connections; requests in flight finish; connections that stay idle are closed after
    /// [`idle_grace`](crate::Deadlines::idle_grace); clients that waited for a place get 503; and at the
    /// deadline [`drain`](crate::Deadlines::drain) the remaining connections are cut off.
    pub async fn serve(
        self,
        listener: TcpListener,
        app: impl Endpoint + 'static,
        shutdown: impl Future<Output = ()>,
    ) -> Drained {
        let Self {
            config,
            connections,
            slots,
            serving,
        } = self;
        // Once all of an answer is in the kernel, only the kernel knows that its client does not read.
        // Accepted sockets inherit it.
        let unread_for = config.deadlines.stalled_response.as_millis();
        let unread_for = u32::try_from(unread_for).unwrap_or(u32::MAX);
        if let Err(error) = sockopt::set_tcp_user_timeout(&listener, unread_for) {
            warn!(%error, "cannot limit how long the kernel waits for clients that do not read");
        }
        let networks = &config.trusted_proxies.networks;
        if networks.iter().any(|network| network.prefix_len() == 0) {
            warn!(
                "every address counts as a trusted proxy, so every client can choose its address: name your proxies' networks \
                 in --trusted-proxy"
            );
        }
        let deadlines = config.deadlines;
        let unsent = UnsentAnswers::new(config.most_unsent(), serving.clone());
        let reception = Reception {
            slots,
            builder: connection::http1_builder(&config.limits),
            exchanges: Arc::new(Exchanges {
                app,
                security_headers: SecurityHeaders::new(config.https),
                config,
                serving: serving.subscribe(),
                unsent: Arc::new(unsent),
                proxy_warnings: ProxyWarnings::default(),
            }),
        };
        let mut tasks = JoinSet::new();
        let mut waiting = None;
        let shutdown_requested = async {
            shutdown.await;
            serving_state::change(&serving, |serving| serving.shutting_down = true);
            sleep(deadlines.not_ready_notice).await;
        };
        tokio::select! {
            () = shutdown_requested => {}
            () = reception.accept_loop(&listener, &serving, &mut waiting, &mut tasks) => {}
            never = log_saturation(serving.subscribe(), connections) => match never {},
        }

        serving_state::change(&serving, |serving| {
            serving.draining_since = Some(Instant::now());
            serving.saturation.end(Instant::now());
        });
        // Clients in the queue of a listener that is closed get a reset.
        for (socket, peer) in waiting.into_iter().chain(last_clients(listener)) {
            let slot = reception.slots.clone().try_acquire_owned().ok();
            reception.serve(socket, peer, slot, &mut tasks);
        }
        info!(connections = tasks.len(), "draining");
        let all_gone = async {
            while let Some(ended) = tasks.join_next().await {
                report_panic(ended);
            }
        };
        _ = timeout(deadlines.drain, all_gone).await;
        let cut_off = tasks.len();
        if cut_off > 0 {
            warn!(connections = cut_off, "cut off at the drain deadline");
        }
        // Dropping the tasks aborts them, without a wait: a handler that blocks its thread would never end.
        Drained { cut_off }
    }
}

/// How clients are received.
struct Reception<E> {
    slots: Arc<Semaphore>,
    builder: http1::Builder,
    exchanges: Arc<Exchanges<E>>,
}

impl<E: Endpoint + 'static> Reception<E> {
    /// Accepts connections, each as a task of its own, at most as many at once as there are slots. A client
    /// that waits for a slot is left in `waiting` when this is dropped.
    async fn accept_loop(
        &self,
        listener: &TcpListener,
        serving: &watch::Sender<ServingState>,
        waiting: &mut Option<(TcpStream, SocketAddr)>,
        tasks: &mut JoinSet<()>,
    ) {
        let mut acceptor = Acceptor::default();
        loop {
            coop::consume_budget().await;
            // Accept before waiting for a slot, so that it is known whether a client needs one. Further
            // clients wait in the kernel's queue and cost nothing here.
            *waiting = Some(next_client(&mut acceptor, listener, serving).await);
            let slot = free_slot(&self.slots, serving).await;
            if let Some((socket, peer)) = waiting.take() {
                self.serve(socket, peer, Some(slot), tasks);
            }
            while let Some(ended) = tasks.try_join_next() {
                report_panic(ended);
            }
        }
    }

    /// Serves a client; without a slot, it gets 503.
    fn serve(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        slot: Option<OwnedSemaphorePermit>,
        tasks: &mut JoinSet<()>,
    ) {
        let (builder, exchanges) = (self.builder.clone(), self.exchanges.clone());
        tasks.spawn(async move {
            connection::serve(&builder, socket, peer, exchanges, slot.is_none()).await;
            drop(slot);
        });
    }
}

/// The clients that are in the kernel's queue when it is closed.
fn last_clients(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else {
        return Vec::new();
    };
    // It does not block, since tokio's listeners do not.
    iter::from_fn(|| listener.accept().ok())
        .take(BACKLOG as usize)
        .filter_map(|(socket, peer)| {
            socket.set_nonblocking(true).ok()?;
            Some((TcpStream::from_std(socket).ok()?, peer))
        })
        .collect()
}

/// The next client. Saturation ends when there is none: a connection is free, and no client waits for it.
async fn next_client(
    acceptor: &mut Acceptor,
    listener: &TcpListener,
    serving: &watch::Sender<ServingState>,
) -> (TcpStream, SocketAddr) {
    let mut accepting = pin!(acceptor.next(|| listener.accept()));
    // Tokio makes a busy task pause by reporting that nothing is ready, which would end saturation by
    // mistake.
    if let Some(client) = poll_immediate(coop::unconstrained(accepting.as_mut())).await {
        return client;
    }
    serving_state::change(serving, |serving| serving.saturation.end(Instant::now()));
    accepting.await
}

/// Waits until one more connection may be open. Meanwhile, connections that were served are closed, and a
/// client that owes the rest of a request or does not read its response has
/// [the short timeout](crate::Deadlines::saturated_timeout).
#[expect(clippy::expect_used, reason = "nothing closes the semaphore")]
async fn free_slot(slots: &Arc<Semaphore>, serving: &watch::Sender<ServingState>) -> OwnedSemaphorePermit {
    if let Ok(slot) = slots.clone().try_acquire_owned() {
        return slot;
    }
    serving_state::change(serving, |serving| serving.saturation.begin(Instant::now()));
    slots
        .clone()
        .acquire_owned()
        .await
        .expect("the semaphore is open")
}

/// Logs a panic, which ends only its own connection.
fn report_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(%error, "a connection's task failed");
    }
}
