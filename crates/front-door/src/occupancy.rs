//! How many connections are in use, for metrics, and a line in the log when there are too few.

use std::{convert::Infallible, sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout},
};
use tracing::{info, warn};

use crate::{saturation::RESET_AFTER, serving_state::ServingState};

/// How many connections a front door has, and how many of them are in use.
#[derive(Clone, Debug)]
pub struct Occupancy {
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) limit: usize,
    pub(crate) serving: watch::Receiver<ServingState>,
}

impl Occupancy {
    /// The most connections at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Connections that are in use.
    pub fn in_use(&self) -> usize {
        self.limit - self.slots.available_permits()
    }

    /// For how long in all, since the start, clients have waited because all connections were in use.
    pub fn saturated_for(&self) -> Duration {
        self.serving.borrow().saturation.total(Instant::now())
    }
}

/// One line when clients begin to wait for a connection, and one when none has waited for a while: clients
/// that hold connections on purpose reconnect at once.
pub(crate) async fn log_saturation(
    mut serving: watch::Receiver<ServingState>,
    connections: usize,
) -> Infallible {
    let is_saturated = |serving: &ServingState| serving.saturation.since().is_some();
    loop {
        // Only the front door ends the channel, and then nobody waits for this.
        let Ok(_) = serving.wait_for(is_saturated).await.map(drop) else {
            return std::future::pending().await;
        };
        warn!(
            connections,
            "all connections are in use, and clients wait for one: raise --max-connections, or see who holds them"
        );
        loop {
            _ = serving.wait_for(|serving| !is_saturated(serving)).await;
            if timeout(RESET_AFTER, serving.wait_for(is_saturated))
                .await
                .is_err()
            {
                break;
            }
        }
        info!("no client waits for a connection any more");
    }
}
