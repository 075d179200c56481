//! What all connections must know about the house they are in.

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// How the house is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct House {
    /// The shutdown began.
    pub(crate) leaving: bool,
    /// Since when nobody is let in any more; who is in finishes and goes.
    pub(crate) draining_since: Option<Instant>,
    /// Since when there has always been somebody waiting for a place; who has been served goes, and who is slow hurries.
    pub(crate) crowded_since: Option<Instant>,
}

impl House {
    /// Since when who is not in the middle of a request hurries.
    pub(crate) fn hurried_since(&self) -> Option<Instant> {
        self.crowded_since.or(self.draining_since)
    }
}

/// Whether the server wants new requests; for `/readyz`.
#[derive(Clone, Debug)]
pub struct Readiness(pub(crate) watch::Receiver<House>);

impl Readiness {
    /// Whether the shutdown has not begun yet.
    pub fn is_ready(&self) -> bool {
        !self.0.borrow().leaving
    }
}

/// Changes the house, waking the connections only if there is something new.
pub(crate) fn change(house: &watch::Sender<House>, change: impl FnOnce(&mut House)) {
    house.send_if_modified(|house| {
        let before = *house;
        change(house);
        *house != before
    });
}

/// Waits for a deadline that depends on the house, whatever becomes of the house meanwhile.
pub(crate) async fn until(mut house: watch::Receiver<House>, deadline: impl Fn(&House) -> Instant) {
    loop {
        let latest = deadline(&house.borrow_and_update());
        tokio::select! {
            () = sleep_until(latest) => return,
            Ok(()) = house.changed() => {}
        }
    }
}
