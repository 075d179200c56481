//! A process's reader of the replicas, which all its waiting revocations share.

use keyward_domain::access_changes::RegisteredReplicas;

use super::database::Database;
use crate::ReadingNumber;

type Reading = (ReadingNumber, RegisteredReplicas);

#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    last_begun: ReadingNumber,
    /// The last reading that was answered.
    read: Option<Reading>,
    /// A reading that the database has made and not yet answered.
    under_way: Option<Reading>,
}

impl Watch {
    pub(super) const fn last_begun(&self) -> ReadingNumber {
        self.last_begun
    }

    /// The last reading that was answered, and the one that is under way.
    pub(super) const fn readings(&self) -> [Option<&Reading>; 2] {
        [self.read.as_ref(), self.under_way.as_ref()]
    }

    /// The parts by which states are compared. They contain no numbers, which only matter to a revocation,
    /// for which a reading may be too early.
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
