//! Which of the remembered verifications are still true.

use std::sync::atomic::{AtomicU64, Ordering};

use keyward_domain::access_changes::Concern;
use uuid::Uuid;

/// The number of changes that this process has learned of. A read from the database that begins at a
/// generation sees all changes up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Generation(u64);

/// The generation at which each key, consumer and organization changed last.
///
/// Identifiers share slots: one that shares a slot with a changed one counts as changed, too, and is read
/// again. So the table never grows, and an eviction is one write, however much is remembered.
///
/// Every operation is sequentially consistent. One thread writes; any number read.
pub(crate) struct Marks {
    now: AtomicU64,
    all: AtomicU64,
    /// When any organization changed.
    organizations: AtomicU64,
    slots: Box<[AtomicU64]>,
}

impl Marks {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            now: AtomicU64::new(0),
            all: AtomicU64::new(0),
            organizations: AtomicU64::new(0),
            slots: (0..slots.max(1)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The present generation. A read of the database afterwards sees all changes up to it.
    pub(crate) fn now(&self) -> Generation {
        Generation(self.now.load(Ordering::SeqCst))
    }

    /// Whether nothing concerning these keys, consumers and organizations has changed since this generation.
    pub(crate) fn are_older_than(&self, known: Generation, subjects: impl IntoIterator<Item = Uuid>) -> bool {
        let is_older = |mark: &AtomicU64| mark.load(Ordering::SeqCst) <= known.0;
        is_older(&self.all) && subjects.into_iter().all(|subject| is_older(self.slot(subject)))
    }

    /// Whether no change has concerned a whole organization since this generation.
    pub(crate) fn are_older_than_any_organization(&self, known: Generation) -> bool {
        self.organizations.load(Ordering::SeqCst) <= known.0
    }

    /// Marks all that these changes concern: what was read about them before this call may no longer be true.
    pub(crate) fn advance(&self, changes: impl IntoIterator<Item = Concern>) {
        let next = self.next();
        for concern in changes {
            let mark = match concern {
                Concern::Everyone => &self.all,
                Concern::Organization(organization) => {
                    self.organizations.store(next, Ordering::SeqCst);
                    self.slot(organization.as_uuid())
                }
                Concern::Consumer(consumer) => self.slot(consumer.as_uuid()),
                Concern::ApiKey(key) => self.slot(key.as_uuid()),
            };
            mark.store(next, Ordering::SeqCst);
        }
        // A read that begins between the marks and this counts as one before them, and is repeated.
        self.now.store(next, Ordering::SeqCst);
    }

    /// Marks all organizations, consumers and keys.
    pub(crate) fn advance_all(&self) {
        self.advance([Concern::Everyone]);
    }

    fn next(&self) -> u64 {
        self.now.load(Ordering::SeqCst) + 1
    }

    /// Slots are chosen by the last digits of an identifier, because these are random.
    fn slot(&self, id: Uuid) -> &AtomicU64 {
        let slots = self.slots.len() as u128;
        let slot = usize::try_from(id.as_u128() % slots).unwrap_or_default();
        &self.slots[slot]
    }

    /// A copy, for the exploration, which compares states and returns to them.
    #[cfg(test)]
    pub(crate) fn snapshot(&self) -> Vec<u64> {
        let marks = [&self.now, &self.all, &self.organizations]
            .into_iter()
            .chain(&self.slots);
        marks.map(|mark| mark.load(Ordering::SeqCst)).collect()
    }

    #[cfg(test)]
    pub(crate) fn restore(&self, snapshot: &[u64]) {
        let marks = [&self.now, &self.all, &self.organizations]
            .into_iter()
            .chain(&self.slots);
        for (mark, value) in marks.zip(snapshot) {
            mark.store(*value, Ordering::SeqCst);
        }
    }
}
