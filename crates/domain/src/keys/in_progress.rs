//! The requests with idempotency keys that are being handled.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::MembershipId;
use crate::idempotency_key::IdempotencyKey;

type Request = (MembershipId, [u8; 16]);

/// Which requests this process is handling, so that a repeated one is answered at once rather than made to
/// wait. The store alone decides which of them creates something: requests of other processes are known only
/// to it, if at all.
#[derive(Clone, Default)]
pub(super) struct InProgress(Arc<Mutex<HashSet<Request>>>);

/// A request in progress; over when it is dropped.
pub(super) struct Begun {
    all: InProgress,
    request: Request,
}

/// The same request is in progress.
pub(super) struct AlreadyBegun;

impl InProgress {
    /// Begins a request, if this is the key of one. A form that is sent again waits: people see where it led.
    pub(super) fn begin_request(
        &self,
        consumer: MembershipId,
        key: Option<IdempotencyKey>,
    ) -> Result<Option<Begun>, AlreadyBegun> {
        let Some(key) = key.filter(|key| key.request().is_some()) else {
            return Ok(None);
        };
        let request = (consumer, key.to_bytes());
        if !self.change(|requests| requests.insert(request)) {
            return Err(AlreadyBegun);
        }
        Ok(Some(Begun {
            all: self.clone(),
            request,
        }))
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
