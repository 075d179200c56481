use std::collections::BTreeMap;

use crate::access_changes::{ChangeNumber, Concern, Concerns, ReplicaId};
use crate::audit::AuditEvent;
use crate::id::{ApiKeyId, MembershipId};

/// The changes of access, and the replicas with their names and how far they have seen.
#[derive(Default)]
pub(super) struct Access {
    pub(super) changes: Vec<Concern>,
    pub(super) replicas: BTreeMap<ReplicaId, (String, ChangeNumber)>,
}

impl Access {
    /// Raises the counter for what these events record; these are the consumers of all keys.
    pub(super) fn note(
        &mut self,
        events: &[AuditEvent],
        consumers: impl Fn(ApiKeyId) -> Option<MembershipId>,
    ) {
        let mut concerns = Concerns::default();
        events.iter().for_each(|event| concerns.note(event));
        let keys = concerns.keys_too_many_to_list().into_iter();
        let consumers = keys.filter_map(|key| Some((key, consumers(key)?))).collect();
        self.changes.extend(concerns.summary(&consumers));
    }

    pub(super) fn raise(&mut self, concern: Concern) {
        self.changes.push(concern);
    }

    pub(super) fn counter(&self) -> ChangeNumber {
        ChangeNumber::from_u64(self.changes.len() as u64)
    }
}
