//! What a holder can do with their keys: issue, list, read, edit, revoke.

mod edit;
mod issue;
mod read;
mod revoke;

use std::sync::Arc;

use crate::audit::{Act, RequestSource};
use crate::clock::Clock;
use crate::holder::Holder;
use crate::id::IdGenerator;
use crate::ports::{ApiKeys, KeyLimits};
use crate::random::Random;

pub use crate::form_nonce::{FormNonce, InvalidNonce};
pub use crate::ports::{EditKeyError, RevokeKeyError};
pub use issue::{IssueKeyError, IssuedKey, KeyDraft};
pub use read::{ListKeysError, ReadKeyError};

/// The use cases of personal keys. Each takes a [`Holder`], so nobody can reach another consumer's keys.
#[derive(Clone)]
pub struct PersonalKeys {
    keys: Arc<dyn ApiKeys>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    ids: Arc<IdGenerator>,
    limits: KeyLimits,
}

impl PersonalKeys {
    /// The use cases over a store.
    #[must_use]
    pub fn new(
        keys: Arc<dyn ApiKeys>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        ids: Arc<IdGenerator>,
        limits: KeyLimits,
    ) -> Self {
        Self {
            keys,
            clock,
            random,
            ids,
            limits,
        }
    }

    /// A nonce for a form that creates a key.
    #[must_use]
    pub fn form_nonce(&self) -> FormNonce {
        FormNonce::generate(&*self.random)
    }

    fn act(&self, holder: &Holder, source: RequestSource) -> Act {
        Act::new(&self.ids, self.clock.now(), holder.as_actor(), source).within(holder.organization_id())
    }
}
