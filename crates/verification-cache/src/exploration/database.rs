//! The database: every call is one transaction.

use std::collections::BTreeMap;

use keyward_domain::access_changes::{
    ChangeNumber, PolledChanges, RegisteredReplica, RegisteredReplicas, ReplicaId,
};
use uuid::Uuid;

use super::explored_change::{ExploredChange, Key};

/// How many changes the log holds.
const LOGGED: usize = 1;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Database {
    change: ExploredChange,
    revoked: [bool; 2],
    counter: u64,
    log: Vec<(u64, Key)>,
    rows: BTreeMap<u8, u64>,
}

impl Database {
    pub(super) fn new(change: ExploredChange) -> Self {
        Self {
            change,
            ..Self::default()
        }
    }

    pub(super) fn is_revoked(&self, key: Key) -> bool {
        self.revoked[key]
    }

    pub(super) fn revoke(&mut self, key: Key) {
        if !self.revoked[key] {
            self.revoked[key] = true;
            self.counter += 1;
            self.log.push((self.counter, key));
            self.log.drain(..self.log.len().saturating_sub(LOGGED));
        }
    }

    pub(super) fn register(&mut self, replica: u8) -> ChangeNumber {
        self.rows.insert(replica, self.counter);
        ChangeNumber::from_u64(self.counter)
    }

    pub(super) fn poll(&self, replica: u8) -> PolledChanges {
        let changes = self.log.iter();
        PolledChanges {
            counter: ChangeNumber::from_u64(self.counter),
            acknowledged: self.rows.get(&replica).map(|seen| ChangeNumber::from_u64(*seen)),
            changes: changes
                .map(|(number, key)| (ChangeNumber::from_u64(*number), self.change.concern(*key)))
                .collect(),
        }
    }

    pub(super) fn acknowledge(&mut self, replica: u8, seen: ChangeNumber) -> bool {
        let row = self.rows.get_mut(&replica);
        row.map(|row| *row = seen.as_u64()).is_some()
    }

    pub(super) fn replicas(&self) -> RegisteredReplicas {
        let replicas = self.rows.iter();
        RegisteredReplicas {
            counter: ChangeNumber::from_u64(self.counter),
            replicas: replicas
                .map(|(id, seen)| RegisteredReplica {
                    id: ReplicaId::from_uuid(uuid(u128::from(*id))),
                    name: String::new(),
                    acknowledged: ChangeNumber::from_u64(*seen),
                })
                .collect(),
        }
    }

    pub(super) fn strike_off(&mut self, replica: ReplicaId, unless_seen: ChangeNumber) {
        let struck = |id: u8| uuid(u128::from(id)) == replica.as_uuid();
        self.rows
            .retain(|id, seen| !struck(*id) || *seen >= unless_seen.as_u64());
    }
}

fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}
