use std::collections::HashMap;
use std::hash::Hash;

use crate::keys::IdempotencyKey;

/// The objects that forms of each scope created, by their idempotency keys.
pub(super) struct CreatedWith<Scope, Id>(HashMap<(Scope, IdempotencyKey), Id>);

impl<Scope, Id> Default for CreatedWith<Scope, Id> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<Scope: Eq + Hash, Id: Copy> CreatedWith<Scope, Id> {
    pub(super) fn find(&self, scope: Scope, key: Option<IdempotencyKey>) -> Option<Id> {
        self.0.get(&(scope, key?)).copied()
    }

    pub(super) fn note(&mut self, scope: Scope, key: Option<IdempotencyKey>, id: Id) {
        if let Some(key) = key {
            self.0.insert((scope, key), id);
        }
    }
}
