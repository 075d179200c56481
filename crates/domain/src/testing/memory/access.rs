use std::collections::BTreeMap;

use crate::access_changes::{ChangeNumber, Concern, ReplicaId};
use crate::audit::AuditEvent;

/// The changes of access, and the replicas with their names and how far they have seen.
#[derive(Default)]
pub(super) struct Access {
    pub(super) changes: Vec<Concern>,
    pub(super) replicas: BTreeMap<ReplicaId, (String, ChangeNumber)>,
}

impl Access {
    /// Raises the counter for what these events record.
    pub(super) fn note(&mut self, events: &[AuditEvent]) {
        let concerns = events
            .iter()
            .filter_map(|event| Some((Concern::of_event(event)?, event.organization_id)));
        self.changes.extend(Concern::summary(concerns.collect()));
    }

    pub(super) fn raise(&mut self, concern: Concern) {
        self.changes.push(concern);
    }

    pub(super) fn counter(&self) -> ChangeNumber {
        ChangeNumber::from_u64(self.changes.len() as u64)
    }
}
