//! The state of the server that all connections share.

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::saturation::{Saturation, ShortTimeout};

/// Whether the server accepts connections, and whether all of them are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServingState {
    /// Whether the shutdown has begun.
    pub(crate) shutting_down: bool,
    /// Since when no connection is accepted; open ones finish their requests and close.
    pub(crate) draining_since: Option<Instant>,
    /// While clients wait for a connection, idle ones are closed, and those that owe the rest of a request or
    /// do not read their answers have short timeouts.
    pub(crate) saturation: Saturation,
    /// Since when the answers that wait for their clients fill the memory that they may have; slow readers
    /// have the short timeout then.
    pub(crate) unsent_full_since: Option<Instant>,
}

impl ServingState {
    /// The timeout of clients that are not in the middle of a request.
    pub(crate) fn short_timeout(&self) -> Option<ShortTimeout> {
        self.saturation
            .short_timeout()
            .or(self.draining_since.map(ShortTimeout::since))
    }

    /// The timeouts of clients that read an answer slowly.
    pub(crate) fn response_timeouts(&self) -> impl Iterator<Item = ShortTimeout> {
        let unsent_full = self.unsent_full_since.map(ShortTimeout::since);
        self.saturation.short_timeout().into_iter().chain(unsent_full)
    }

    /// Whether a connection should not be used for another request.
    pub(crate) fn wants_fewer_connections(&self) -> bool {
        self.shutting_down || self.draining_since.is_some() || self.saturation.since().is_some()
    }
}

/// Whether the server wants new requests; for `/readyz`.
#[derive(Clone, Debug)]
pub struct Readiness(pub(crate) watch::Receiver<ServingState>);

impl Readiness {
    /// Whether the shutdown has not begun yet.
    pub fn is_ready(&self) -> bool {
        !self.0.borrow().shutting_down
    }
}

/// Changes the state, waking the connections only if there is something new.
pub(crate) fn change(serving: &watch::Sender<ServingState>, change: impl FnOnce(&mut ServingState)) {
    serving.send_if_modified(|serving| {
        let before = *serving;
        change(serving);
        *serving != before
    });
}

/// Waits for a deadline that depends on the state, which may change meanwhile.
pub(crate) async fn until(
    mut serving: watch::Receiver<ServingState>,
    deadline: impl Fn(&ServingState) -> Instant,
) {
    loop {
        let latest = deadline(&serving.borrow_and_update());
        tokio::select! {
            () = sleep_until(latest) => return,
            Ok(()) = serving.changed() => {}
        }
    }
}
