//! What all connections must know about the house they are in.

use tokio::sync::watch;

/// How the house is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct House {
    /// The shutdown began.
    pub(crate) leaving: bool,
    /// Nobody is let in any more; who is in finishes and goes.
    pub(crate) draining: bool,
    /// All connections are taken: who has been served goes, so that the next in the queue comes in.
    pub(crate) crowded: bool,
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
