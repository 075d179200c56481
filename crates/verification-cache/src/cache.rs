//! What is remembered of verifications.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyward_domain::access::Credential;
use keyward_domain::access_changes::Concern;
use keyward_domain::token::TokenDigest;
use quick_cache::sync::Cache;

use crate::boot_time::BootTime;
use crate::marks::{Generation, Marks};
#[cfg(test)]
use crate::mutant::Mutant;

/// How many slots keys, consumers and organizations share: half a MiB. After 100 changes, one of 650 others is read again in
/// vain.
const SLOTS: usize = 65_536;

/// Credentials of accepted tokens, by digest. Any number of threads may ask; one [`Replica`](crate::Replica) tells it what
/// changes.
///
/// It never holds more than its capacity: the least used make room, and nobody waits for that. What ended, or is unknown,
/// is not kept: strangers cannot fill it.
pub struct VerificationCache {
    entries: Cache<[u8; 32], Arc<Entry>>,
    marks: Marks,
    /// In nanoseconds since the machine's start; 0 without a lease.
    lease_ends: AtomicU64,
    #[cfg(test)]
    mutant: Option<Mutant>,
}

struct Entry {
    credential: Credential,
    known: Generation,
}

/// The right to remember what a query is about to find. It was got before the query: a change that is learned of in the
/// meantime may have come after the query's snapshot, so what the query finds is not remembered then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fill(Generation);

/// The generation that was read before the lease is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Known(Generation);

impl VerificationCache {
    /// An empty cache, which holds at most this many credentials.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self::with_slots(capacity, SLOTS)
    }

    pub(crate) fn with_slots(capacity: usize, slots: usize) -> Self {
        Self {
            entries: Cache::new(capacity),
            marks: Marks::new(slots),
            lease_ends: AtomicU64::new(0),
            #[cfg(test)]
            mutant: None,
        }
    }

    /// The credential of a token, if it is remembered and the lease covers this moment.
    #[must_use]
    pub fn find(&self, digest: &TokenDigest, now: BootTime) -> Option<Credential> {
        if !self.has_lease(now) {
            return None;
        }
        let entry = self.entries.get(digest.as_bytes())?;
        self.is_current(&entry.credential, entry.known)
            .then(|| entry.credential.clone())
    }

    /// Asks before a query whether its result may be remembered: only under a lease, since without one this process may not
    /// know of changes that were answered long ago.
    #[must_use]
    pub fn begin_fill(&self, now: BootTime) -> Option<Fill> {
        self.under_lease(self.known(), now)
    }

    /// What is known now.
    pub(crate) fn known(&self) -> Known {
        Known(self.marks.now())
    }

    /// Looks at the lease after the generation was read: if the lease has not ended by then, everything is cleared later than
    /// what was read, before there is another lease. In the other order, all of that may come in between: the generation would
    /// be that of the new registration, and the query may be older than it.
    pub(crate) fn under_lease(&self, known: Known, now: BootTime) -> Option<Fill> {
        #[cfg(test)]
        if self.mutant == Some(Mutant::FillWithoutLease) {
            return Some(Fill(known.0));
        }
        self.has_lease(now).then_some(Fill(known.0))
    }

    /// Remembers what the query found, unless its end has come, or a change was learned of since that may concern it. An end
    /// that is planned comes with the credential, and is compared with the time of day at each use.
    pub fn fill(&self, fill: Fill, digest: &TokenDigest, credential: &Credential) {
        let known = self.known_by(fill);
        if !credential.has_ended() && self.is_current(credential, known) {
            let credential = credential.clone();
            self.entries
                .insert(*digest.as_bytes(), Arc::new(Entry { credential, known }));
        }
    }

    /// How many credentials are held, also such that a change has made unusable.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the lease covers this moment.
    #[must_use]
    pub fn has_lease(&self, now: BootTime) -> bool {
        #[cfg(test)]
        if self.mutant == Some(Mutant::LeaseCheckMissing) {
            return self.lease_ends.load(Ordering::SeqCst) > 0;
        }
        now.nanoseconds() < self.lease_ends.load(Ordering::SeqCst)
    }

    /// From now on, nothing that was read before is answered to whomever these changes concern.
    pub(crate) fn evict(&self, changes: impl IntoIterator<Item = Concern>) {
        self.marks.advance(changes);
    }

    /// From now on, nothing that was read before is answered.
    pub(crate) fn clear(&self) {
        self.marks.advance_all();
        self.entries.clear();
    }

    pub(crate) fn renew_lease(&self, until: BootTime) {
        self.lease_ends.store(until.nanoseconds(), Ordering::SeqCst);
    }

    pub(crate) fn end_lease(&self) {
        self.lease_ends.store(0, Ordering::SeqCst);
    }

    fn is_current(&self, credential: &Credential, known: Generation) -> bool {
        self.marks.are_older_than(known, credential)
    }

    fn known_by(&self, fill: Fill) -> Generation {
        #[cfg(test)]
        if self.mutant == Some(Mutant::FillGuardMissing) {
            return self.marks.now();
        }
        fill.0
    }
}

/// For the exploration, which copies and compares states.
#[cfg(test)]
mod copying {
    use super::{
        AtomicU64, BootTime, Cache, Credential, Fill, Known, Marks, Mutant, Ordering, VerificationCache,
    };

    impl Known {
        /// Without a look at the lease.
        pub(crate) const fn unchecked(self) -> Fill {
            Fill(self.0)
        }
    }

    impl VerificationCache {
        pub(crate) fn with_mutant(self, mutant: Option<Mutant>) -> Self {
            Self { mutant, ..self }
        }

        pub(crate) const fn mutant(&self) -> Option<Mutant> {
            self.mutant
        }

        /// Another cache that holds the same.
        pub(crate) fn fork(&self) -> Self {
            let snapshot = self.marks.snapshot();
            let fork = Self {
                entries: Cache::new(8),
                marks: Marks::new(snapshot.len() - 2),
                lease_ends: AtomicU64::new(self.lease_ends.load(Ordering::SeqCst)),
                mutant: self.mutant,
            };
            fork.marks.restore(&snapshot);
            for (digest, entry) in self.entries.iter() {
                fork.entries.insert(digest, entry);
            }
            fork
        }

        /// What distinguishes this state from others at this moment: what of it can still be answered, and for how long.
        pub(crate) fn fingerprint(&self, now: BootTime) -> (Vec<u8>, Option<u64>) {
            let current = self
                .entries
                .iter()
                .filter(|(_, entry)| self.is_current(&entry.credential, entry.known));
            let mut entries: Vec<u8> = current.map(|(digest, _)| digest[0]).collect();
            entries.sort_unstable();
            let lease_ends = self.lease_ends.load(Ordering::SeqCst);
            let left = lease_ends.saturating_sub(now.nanoseconds());
            (entries, (lease_ends > 0).then_some(left))
        }

        /// Whether what a query finds of this credential would be remembered.
        pub(crate) fn would_fill(&self, fill: Fill, credential: &Credential) -> bool {
            self.is_current(credential, self.known_by(fill))
        }
    }
}
