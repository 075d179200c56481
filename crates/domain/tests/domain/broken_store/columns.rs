use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use keyward_domain::api_key::{ApiKey, KeyDescription, Origin, RevocationReason};
use keyward_domain::audit::{Actor, AuditEvent, Outcome};

use super::{BrokenStore, Fault, lock};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    KeyDescription,
    KeyCreatedAt,
    KeyCanManageKeys,
    KeyRevokedAt,
    KeyRevokedBy,
    KeyRevocationReason,
    EventOutcome,
    EventObject,
}

impl BrokenStore {
    /// The key as it was asked for, where the fault is to keep that and not to follow it; and as the columns are read.
    pub(super) fn as_told(&self, key: ApiKey) -> ApiKey {
        let mut key = key;
        key.can_manage_keys &= !lock(&self.restricted).contains(&key.id);
        if let Some(parent) = lock(&self.parents).get(&key.id) {
            key.origin = Origin::Key(*parent);
        }
        if let (Some(revocation), Some(by)) = (
            key.revocation.as_mut(),
            lock(&self.revokers).get(&key.id).copied(),
        ) {
            revocation.by = by;
        }
        key
    }

    /// The key as a reader is told.
    pub(super) fn as_read(&self, key: ApiKey) -> ApiKey {
        let mut key = self.as_told(key);
        let Fault::Misreads(column) = self.fault else {
            return key;
        };
        match column {
            Column::KeyDescription => key.description = KeyDescription::parse("").expect("a description"),
            Column::KeyCreatedAt => key.created_at = whole_seconds(key.created_at),
            Column::KeyCanManageKeys => key.can_manage_keys = true,
            _ => {}
        }
        if let Some(revocation) = &mut key.revocation {
            match column {
                Column::KeyRevokedAt => revocation.at = whole_seconds(revocation.at),
                Column::KeyRevokedBy => revocation.by = Actor::Administrator,
                Column::KeyRevocationReason => revocation.reason = RevocationReason::Holder,
                _ => {}
            }
        }
        key
    }

    /// The event as a reader is told.
    pub(super) fn event_as_read(&self, event: AuditEvent) -> AuditEvent {
        let mut event = event;
        let Fault::Misreads(column) = self.fault else {
            return event;
        };
        match column {
            Column::EventOutcome => event.outcome = Outcome::Success,
            Column::EventObject => event.object = None,
            _ => {}
        }
        event
    }
}

fn whole_seconds(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment
        .duration_trunc(TimeDelta::seconds(1))
        .expect("a moment of this age")
}
