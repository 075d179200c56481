//! The one reader of the replicas for all that wait in a process.

use keyward_domain::access_changes::RegisteredReplicas;

use super::database::Database;
use crate::ReadingNumber;

type Reading = (ReadingNumber, RegisteredReplicas);

#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    last_begun: ReadingNumber,
    /// What was answered last.
    read: Option<Reading>,
    /// What the database has read, and is not answered yet.
    under_way: Option<Reading>,
}

impl Watch {
    pub(super) const fn last_begun(&self) -> ReadingNumber {
        self.last_begun
    }

    /// The last one that was answered, and the one that is under way.
    pub(super) const fn readings(&self) -> [Option<&Reading>; 2] {
        [self.read.as_ref(), self.under_way.as_ref()]
    }

    /// What distinguishes it from another state. Of the numbers only matters for whom the reading is late
    /// enough.
    pub(super) fn fingerprint(&self) -> [Option<RegisteredReplicas>; 2] {
        self.readings()
            .map(|reading| reading.map(|(_, replicas)| replicas.clone()))
    }

    /// The next step: a reading begins, or is answered.
    pub(super) fn step(&mut self, database: &Database) {
        match self.under_way.take() {
            Some(reading) => self.read = Some(reading),
            None => {
                self.last_begun = self.last_begun.next();
                self.under_way = Some((self.last_begun, database.replicas()));
            }
        }
    }
}
