//! Use cases of a holder's own keys: issue, list, read, edit, rotate, revoke.

mod edit;
mod in_progress;
mod issue;
mod read;
mod revoke;
mod rotate;

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::ports::{ApiKeys, KeyLimits};
use crate::propagation::{ToAllServers, with_propagation};
use crate::rate::Rate;
use crate::sources::Sources;

pub use crate::api_key::KeyDraft;
pub use crate::idempotency_key::{
    ChosenKey, FirstUse, IdempotencyKey, InvalidChosenKey, InvalidIdempotencyKey, Repetition, RequestDigest,
};
pub use crate::ports::{AddKeyError, EditKeyError, RevokeKeyError, RotateKeyError, RotationDraft};
use in_progress::InProgress;
pub use issue::IssuedKey;
pub use read::ReadKeyError;

/// The use cases of personal keys. Each takes a [`Holder`](crate::holder::Holder), so another consumer's keys
/// are out of reach.
#[derive(Clone)]
pub struct PersonalKeys {
    keys: Arc<dyn ApiKeys>,
    sources: Sources,
    limits: KeyLimits,
    to_all_servers: ToAllServers,
    in_progress: InProgress,
}

impl PersonalKeys {
    /// The use cases over a store.
    #[must_use]
    pub fn new(keys: Arc<dyn ApiKeys>, sources: Sources, limits: KeyLimits) -> Self {
        Self {
            keys,
            sources,
            limits,
            to_all_servers: ToAllServers::default(),
            in_progress: InProgress::default(),
        }
    }

    /// The present moment, by which people choose when keys end.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.sources.now()
    }

    /// How often a consumer may create and edit keys.
    pub const fn change_rate(&self) -> Rate {
        self.limits.changes
    }

    with_propagation!();
}
