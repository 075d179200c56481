//! How many connections are in use, for metrics, and a line in the log when clients wait for one.

use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep},
};
use tracing::{info, warn};

use crate::serving_state::ServingState;

/// For how long in all clients must have waited before it is logged.
const LOGGED_AFTER: Duration = Duration::from_secs(1);

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

/// One line when clients wait for a connection, and one when none has waited for a while. Less than a second
/// in all is not logged: at the limit, an idle connection is closed at once for a new client.
pub(crate) async fn log_saturation(
    mut serving: watch::Receiver<ServingState>,
    connections: usize,
) -> Infallible {
    loop {
        let began = serving.wait_for(|serving| serving.saturation.since().is_some());
        // The channel ends only with the front door, and then no caller waits for this.
        let Ok(waited) = began
            .await
            .map(|serving| serving.saturation.total(Instant::now()))
        else {
            return pending().await;
        };
        let mut is_logged = false;
        loop {
            sleep(LOGGED_AFTER).await;
            let (saturation, now) = (serving.borrow().saturation, Instant::now());
            if !is_logged && saturation.total(now) >= waited + LOGGED_AFTER {
                is_logged = true;
                warn!(
                    connections,
                    "all connections are in use, and clients wait: check which clients hold them, or raise --max-connections"
                );
            }
            if saturation.is_over(now) {
                break;
            }
        }
        if is_logged {
            info!("no client waits for a connection any more");
        }
    }
}
