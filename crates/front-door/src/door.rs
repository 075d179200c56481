//! Accepts, counts and drains.

use std::{net::SocketAddr, pin::pin, sync::Arc};

use futures_util::future::poll_immediate;
use poem::Endpoint;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::{JoinError, JoinSet, coop},
    time::{Instant, sleep, timeout},
};
use tracing::{error, info, warn};

use crate::{
    accept,
    config::{ConfigError, FrontDoorConfig},
    connection,
    exchange::Exchanges,
    serving_state::{self, Readiness, ServingState},
};

/// How many clients may wait in the kernel's queue, as far as the system allows (Linux: `net.core.somaxconn`). Tokio asks
/// for 128; who comes to a full queue gets no answer and tries again after 1 s, 3 s, 7 s, 15 s, ….
const QUEUE: i32 = 4_096;

/// What every HTTP adapter stands behind.
#[derive(Debug)]
pub struct FrontDoor {
    config: FrontDoorConfig,
    connections: usize,
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
            serving: watch::Sender::new(ServingState::default()),
        })
    }

    /// Whether this server wants new requests; for `/readyz`.
    pub fn readiness(&self) -> Readiness {
        Readiness(self.serving.subscribe())
    }

    /// Serves `app` to who comes to `listener`, until `shutdown` is ready and the connections have drained: from then
    /// on not ready, after [`not_ready_notice`](crate::Deadlines::not_ready_notice) no new connections, requests in
    /// flight finish, and at the deadline [`drain`](crate::Deadlines::drain) what is left is cut off.
    pub async fn serve(
        self,
        listener: TcpListener,
        app: impl Endpoint + 'static,
        shutdown: impl Future<Output = ()>,
    ) -> Drained {
        let Self {
            config,
            connections,
            serving,
        } = self;
        if let Err(error) = rustix::net::listen(&listener, QUEUE) {
            warn!(%error, "cannot lengthen the queue of waiting connections");
        }
        let deadlines = config.deadlines;
        let mut tasks = JoinSet::new();
        let closing_time = async {
            shutdown.await;
            serving_state::change(&serving, |serving| serving.shutting_down = true);
            sleep(deadlines.not_ready_notice).await;
        };
        tokio::select! {
            () = closing_time => {}
            () = let_in(&listener, connections, app, config, &serving, &mut tasks) => {}
        }

        drop(listener);
        serving_state::change(&serving, |serving| {
            serving.draining_since = Some(Instant::now());
            serving.crowded_since = None;
        });
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
        // Dropping the tasks aborts them. Nobody waits for that: a handler that blocks its thread would never end.
        Drained { cut_off }
    }
}

/// Lets clients in, each as a task of its own, never more than `connections` at once.
async fn let_in(
    listener: &TcpListener,
    connections: usize,
    app: impl Endpoint + 'static,
    config: FrontDoorConfig,
    serving: &watch::Sender<ServingState>,
    tasks: &mut JoinSet<()>,
) {
    let slots = Arc::new(Semaphore::new(connections));
    let builder = connection::http1_builder(&config.limits);
    let exchanges = Arc::new(Exchanges {
        app,
        config,
        serving: serving.subscribe(),
    });
    loop {
        coop::consume_budget().await;
        // Before looking for a place, so that it is known whether anybody needs one. Further ones wait in the kernel's
        // queue and cost nothing here.
        let (socket, peer) = next_client(listener, serving).await;
        let slot = free_slot(&slots, serving).await;
        let (builder, exchanges) = (builder.clone(), exchanges.clone());
        tasks.spawn(async move {
            connection::serve(&builder, socket, peer, exchanges).await;
            drop(slot);
        });
        while let Some(ended) = tasks.try_join_next() {
            report_panic(ended);
        }
    }
}

/// The next client. The crowd is over when there is none: there is a place, and nobody waits for it.
async fn next_client(
    listener: &TcpListener,
    serving: &watch::Sender<ServingState>,
) -> (TcpStream, SocketAddr) {
    let mut accepting = pin!(accept::next(|| listener.accept()));
    // Tokio makes a busy task pause by telling it that nothing is there. That would end the crowd by mistake.
    if let Some(client) = poll_immediate(coop::unconstrained(accepting.as_mut())).await {
        return client;
    }
    serving_state::change(serving, |serving| serving.crowded_since = None);
    accepting.await
}

/// A place for one more connection. While there is none, who has been served is asked to go, and who is slow hurries.
#[expect(clippy::expect_used, reason = "nothing closes the semaphore")]
async fn free_slot(slots: &Arc<Semaphore>, serving: &watch::Sender<ServingState>) -> OwnedSemaphorePermit {
    if let Ok(slot) = slots.clone().try_acquire_owned() {
        return slot;
    }
    serving_state::change(serving, |serving| {
        serving.crowded_since.get_or_insert_with(Instant::now);
    });
    slots
        .clone()
        .acquire_owned()
        .await
        .expect("the semaphore is open")
}

/// A connection's panic is its own; nobody else is disturbed.
fn report_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(%error, "a connection's task failed");
    }
}
