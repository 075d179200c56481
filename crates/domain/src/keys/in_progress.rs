//! The requests with idempotency keys that are being handled.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::MembershipId;
use crate::idempotency_key::IdempotencyKey;

type Request = (MembershipId, [u8; 16]);

/// Which requests this process is handling, so that a repeated one is answered at once rather than made to wait. The store
/// alone decides which of them creates something: requests of other processes are not known here.
#[derive(Clone, Default)]
pub(super) struct InProgress(Arc<Mutex<HashSet<Request>>>);

/// A request in progress; over when it is dropped.
pub(super) struct Begun {
    all: InProgress,
    request: Request,
}

impl InProgress {
    /// Begins a request; `None` if the same one is in progress.
    pub(super) fn begin(&self, consumer: MembershipId, key: IdempotencyKey) -> Option<Begun> {
        let request = (consumer, key.to_bytes());
        let is_new = self.change(|requests| requests.insert(request));
        is_new.then(|| Begun {
            all: self.clone(),
            request,
        })
    }

    fn change<Done>(&self, change: impl FnOnce(&mut HashSet<Request>) -> Done) -> Done {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.all.change(|requests| requests.remove(&self.request));
    }
}
