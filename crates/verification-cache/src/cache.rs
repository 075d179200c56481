//! The cache of verifications.

#[cfg(test)]
mod copying;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyward_domain::access::Credential;
use keyward_domain::access_changes::Concern;
use keyward_domain::id::MembershipId;
use keyward_domain::token::TokenDigest;
use quick_cache::UnitWeighter;
use quick_cache::sync::Cache;

#[cfg(test)]
pub(crate) use copying::Fingerprint as CacheFingerprint;

use crate::boot_time::BootTime;
use crate::entry::{Entry, subjects_of};
use crate::marks::{Generation, Marks};
use crate::memory::{cache, slot};
#[cfg(test)]
use crate::mutant::Mutant;
use crate::organizations::Organizations;
use crate::reaches::{Reach, Reached, Reaches, reaches_within};

/// How many slots keys, consumers and organizations share: half a MiB. An entry has three of them, so after
/// 100 changes, one of some 220 unchanged entries is read again.
const SLOTS: usize = 65_536;

/// A cache of the credentials of accepted tokens, by digest. Any number of threads may read it; one
/// [`Replica`](crate::Replica) evicts what changes.
///
/// It never takes more memory than its capacity: the least used entries are evicted, without a wait. Ended
/// and unknown keys are not kept, so strangers cannot fill it. Entries older than
/// [`GREATEST_AGE`](Self::GREATEST_AGE) are not used.
pub struct VerificationCache {
    entries: Entries,
    organizations: Organizations,
    reaches: Reaches,
    marks: Marks,
    greatest_age: Duration,
    /// In nanoseconds since the machine's start; 0 without a lease.
    lease_ends: AtomicU64,
    #[cfg(test)]
    mutant: Option<Mutant>,
}

/// The right to remember the result of a query, obtained before the query. A change that is learned of in the
/// meantime may have come after the query's snapshot, so the result is not remembered then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fill {
    known: Generation,
    /// The age of the result counts from here.
    begun: BootTime,
}

/// The generation that was read before the lease is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Known(Generation);

impl VerificationCache {
    /// The maximum age of a credential that is answered; up to a fifth less, by its digest, so that
    /// credentials that were read together are not read again together.
    ///
    /// By the protocol a credential may be kept for ever. This bounds the harm of changes that the protocol
    /// cannot detect, such as a query that a former primary answered, or a row that was changed by hand. So a
    /// key in use is read about every five minutes: 100,000 keys cost 370 look-ups a second, a few hundredths
    /// of a database's capacity.
    pub const GREATEST_AGE: Duration = Duration::from_secs(300);

    /// An empty cache, which takes at most this many bytes: seven eighths for credentials, and one for their
    /// organizations and what consumers reach. Credentials take all of their part at most, and address space
    /// for it from the start.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let sixteenth = bytes.saturating_sub(SLOTS * size_of::<u64>()) / 16;
        Self {
            entries: entries_within(14 * sixteenth),
            organizations: Organizations::within(sixteenth),
            reaches: reaches_within(sixteenth),
            marks: Marks::new(SLOTS),
            greatest_age: Self::GREATEST_AGE,
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
        if !self.is_young(entry.usable_until, now)
            || !self.marks.are_older_than(entry.known, entry.subjects())
        {
            return None;
        }
        entry.credential(self.organizations.find(entry.organization, &self.marks)?)
    }

    /// Asks before a query whether its result may be remembered: only under a lease, since without one this
    /// process may not know of changes that were answered long ago.
    #[must_use]
    pub fn begin_fill(&self, now: BootTime) -> Option<Fill> {
        self.under_lease(self.known(), now)
    }

    pub(crate) fn known(&self) -> Known {
        Known(self.marks.now())
    }

    /// Looks at the lease after the generation was read: if the lease has not ended by then, the cache is
    /// cleared later than that, and before it gets another lease. In the other order, the lease could end and
    /// the cache be cleared in between: the generation would be that of the new registration, and the query
    /// might be older than it.
    pub(crate) fn under_lease(&self, known: Known, now: BootTime) -> Option<Fill> {
        #[cfg(test)]
        if self.mutant == Some(Mutant::FillWithoutLease) {
            return Some(known.fill(now));
        }
        self.has_lease(now).then_some(known.fill(now))
    }

    /// Remembers a credential that the query found, unless its end has come or a change was learned of since
    /// that may concern it. A planned end is stored with the credential, and is compared with the time of day
    /// at each use.
    pub fn fill(&self, fill: Fill, digest: &TokenDigest, credential: &Credential) {
        let known = self.known_by(fill);
        let [byte, ..] = *digest.as_bytes();
        let entry = Entry::of(credential, known, self.usable_until(fill, byte));
        if let Some(entry) = entry.filter(|_| self.is_current(credential, known)) {
            self.organizations
                .fill(&credential.organization, known, &self.marks);
            self.entries.insert(*digest.as_bytes(), entry);
        }
    }

    /// Whether anything is held of a token, usable or not.
    pub(crate) fn holds(&self, digest: &TokenDigest) -> bool {
        self.entries.contains_key(digest.as_bytes())
    }

    /// Removes the entry of a token.
    pub(crate) fn forget(&self, digest: &TokenDigest) {
        if self.holds(digest) {
            self.entries.remove(digest.as_bytes());
        }
    }

    /// The projects that a consumer reaches, if they are remembered and the lease covers this time.
    pub(crate) fn find_reached(&self, consumer: MembershipId, now: BootTime) -> Option<Reached> {
        if !self.has_lease(now) {
            return None;
        }
        let Reach {
            known,
            usable_until,
            projects,
        } = self.reaches.get(&consumer)?;
        let is_current = projects.is_current(consumer, known, &self.marks);
        (is_current && self.is_young(usable_until, now)).then_some(projects)
    }

    /// Remembers the projects that a consumer reaches, as [`fill`](Self::fill) does a credential.
    pub(crate) fn fill_reached(&self, fill: Fill, consumer: MembershipId, projects: Reached) {
        let known = self.known_by(fill);
        if projects.is_current(consumer, known, &self.marks) {
            // The last digits of an identifier are random.
            let [.., byte] = *consumer.as_uuid().as_bytes();
            let usable_until = self.usable_until(fill, byte);
            let reach = Reach {
                known,
                usable_until,
                projects,
            };
            self.reaches.insert(consumer, reach);
        }
    }

    /// How many credentials are held, also such that a change has made unusable.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of consumers whose projects it holds.
    #[must_use]
    pub fn len_reached(&self) -> usize {
        self.reaches.len()
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

    /// For how long the lease still lasts, if it covers this moment.
    #[must_use]
    pub fn lease_left(&self, now: BootTime) -> Option<Duration> {
        let ends = self.lease_ends.load(Ordering::SeqCst);
        let left = ends.checked_sub(now.nanoseconds())?;
        (left > 0).then_some(Duration::from_nanos(left))
    }

    /// From now on, nothing that was read before is answered to whomever these changes concern.
    pub(crate) fn evict(&self, changes: impl IntoIterator<Item = Concern>) {
        self.marks.advance(changes);
    }

    /// From now on, nothing that was read before is answered. It stays where it is until it is read again or
    /// makes room: to remove a million entries would delay the next poll.
    pub(crate) fn clear(&self) {
        self.marks.advance_all();
    }

    pub(crate) fn renew_lease(&self, until: BootTime) {
        self.lease_ends.store(until.nanoseconds(), Ordering::SeqCst);
    }

    pub(crate) fn end_lease(&self) {
        self.lease_ends.store(0, Ordering::SeqCst);
    }

    fn is_current(&self, credential: &Credential, known: Generation) -> bool {
        self.marks.are_older_than(known, subjects_of(credential))
    }

    fn is_young(&self, usable_until: BootTime, now: BootTime) -> bool {
        #[cfg(test)]
        if self.mutant == Some(Mutant::AgeIgnored) {
            return true;
        }
        now < usable_until
    }

    /// Until when the result of a query may be answered, varied by a random byte of its subject.
    fn usable_until(&self, fill: Fill, byte: u8) -> BootTime {
        let less = self.greatest_age / 5 / 256 * u32::from(byte);
        fill.begun.after(self.greatest_age.saturating_sub(less))
    }

    fn known_by(&self, fill: Fill) -> Generation {
        #[cfg(test)]
        if self.mutant == Some(Mutant::FillGuardMissing) {
            return self.marks.now();
        }
        fill.known
    }
}

impl Known {
    const fn fill(self, begun: BootTime) -> Fill {
        Fill { known: self.0, begun }
    }
}

/// Entries by digest.
type Entries = Cache<[u8; 32], Entry>;

/// Entries that are few enough for this much memory. Their table is allocated at once, because a growing one
/// would be copied; the system provides the memory only as it is used.
fn entries_within(bytes: usize) -> Entries {
    let capacity = bytes / slot::<[u8; 32], Entry>();
    let entries = cache(capacity, capacity, UnitWeighter);
    entries.reserve(capacity);
    entries
}
