//! What is remembered of verifications.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyward_domain::access::Credential;
use keyward_domain::access_changes::Concern;
use keyward_domain::id::MembershipId;
use keyward_domain::token::TokenDigest;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};

use crate::boot_time::BootTime;
use crate::entry::{Entry, Organizations, subjects_of};
use crate::marks::{Generation, Marks};
#[cfg(test)]
use crate::mutant::Mutant;
use crate::reaches::{self, Reach, Reached, Reaches, reaches};

/// How many slots keys, consumers and organizations share: half a MiB. An entry has three of them, so after 100 changes
/// one of some 220 others is read again in vain.
const SLOTS: usize = 65_536;

/// Credentials of accepted tokens, by digest. Any number of threads may ask; one [`Replica`](crate::Replica) tells it what
/// changes.
///
/// It never holds more than its capacity: the least used make room, and nobody waits for that. What ended, or is unknown,
/// is not kept: strangers cannot fill it. What is older than [`GREATEST_AGE`](Self::GREATEST_AGE) is not answered.
pub struct VerificationCache {
    entries: Cache<[u8; 32], Arc<Entry>>,
    organizations: Arc<Organizations>,
    reaches: Arc<Reaches>,
    marks: Marks,
    greatest_age: Duration,
    /// In nanoseconds since the machine's start; 0 without a lease.
    lease_ends: AtomicU64,
    #[cfg(test)]
    mutant: Option<Mutant>,
}

/// The right to remember what a query is about to find. It was got before the query: a change that is learned of in the
/// meantime may have come after the query's snapshot, so what the query finds is not remembered then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fill {
    known: Generation,
    /// What the query finds is as old as this.
    begun: BootTime,
}

/// The generation that was read before the lease is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Known(Generation);

impl VerificationCache {
    /// How long a credential is answered after it was read, at most; up to a fifth less, by its digest, so that what was read
    /// together is not read again together.
    ///
    /// By the protocol a credential may be kept for ever. This bounds the harm of what the protocol cannot know: a query that
    /// a former primary answered, a row that somebody changed by hand. A key in use is read once in some five minutes for it:
    /// 100,000 keys cost 370 look-ups a second, a few hundredths of what a database answers.
    pub const GREATEST_AGE: Duration = Duration::from_secs(300);

    /// An empty cache, which holds at most this many credentials.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            entries: with_few_ghosts(capacity),
            organizations: Arc::new(Organizations::new()),
            reaches: Arc::new(reaches()),
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
        (self.is_young(&entry, now) && self.marks.are_older_than(entry.known, entry.subjects()))
            .then(|| entry.credential())
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
            return Some(known.fill(now));
        }
        self.has_lease(now).then_some(known.fill(now))
    }

    /// Remembers what the query found, unless its end has come, or a change was learned of since that may concern it. An end
    /// that is planned comes with the credential, and is compared with the time of day at each use.
    pub fn fill(&self, fill: Fill, digest: &TokenDigest, credential: &Credential) {
        let known = self.known_by(fill);
        if !credential.has_ended() && self.is_current(credential, known) {
            let [byte, ..] = *digest.as_bytes();
            let usable_until = self.usable_until(fill, byte);
            let entry = Entry::of(credential, known, usable_until, &self.organizations);
            self.entries.insert(*digest.as_bytes(), Arc::new(entry));
        }
    }

    /// Whether anything is held of a token, usable or not.
    pub(crate) fn holds(&self, digest: &TokenDigest) -> bool {
        self.entries.contains_key(digest.as_bytes())
    }

    /// Holds nothing of a token any more.
    pub(crate) fn forget(&self, digest: &TokenDigest) {
        if self.holds(digest) {
            self.entries.remove(digest.as_bytes());
        }
    }

    /// What a consumer reaches, if it is remembered and the lease covers this moment.
    pub(crate) fn find_reached(&self, consumer: MembershipId, now: BootTime) -> Option<Reached> {
        if !self.has_lease(now) {
            return None;
        }
        let reach = self.reaches.get(&consumer)?;
        let is_current = now < reach.usable_until && self.marks.are_older_than(reach.known, reach.subjects());
        is_current.then(|| reach.projects())
    }

    /// Remembers what a consumer reaches as [`fill`](Self::fill) does a credential.
    pub(crate) fn fill_reached(&self, fill: Fill, consumer: MembershipId, reached: &Reached) {
        if self
            .marks
            .are_older_than(fill.known, reaches::subjects_of(consumer, reached))
        {
            // The last digits of an identifier are random.
            let [.., byte] = *consumer.as_uuid().as_bytes();
            let usable_until = self.usable_until(fill, byte);
            let reach = Reach::of(consumer, reached.clone(), fill.known, usable_until);
            self.reaches.insert(consumer, Arc::new(reach));
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

    /// From now on, nothing that was read before is answered.
    pub(crate) fn clear(&self) {
        self.marks.advance_all();
        self.entries.clear();
        self.organizations.clear();
        self.reaches.clear();
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

    fn is_young(&self, entry: &Entry, now: BootTime) -> bool {
        #[cfg(test)]
        if self.mutant == Some(Mutant::AgeIgnored) {
            return true;
        }
        now < entry.usable_until
    }

    /// Until when what a query found may be answered, by a random byte of what it was asked for.
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

/// A cache that remembers of few evicted keys that they were there. By default it does so of half as many as it holds, which
/// takes an eighth of its memory and helps little where most keys are asked for again.
#[expect(clippy::expect_used, reason = "every option without a default is set")]
fn with_few_ghosts(capacity: usize) -> Cache<[u8; 32], Arc<Entry>> {
    let mut options = OptionsBuilder::new();
    options
        .estimated_items_capacity(capacity)
        .weight_capacity(capacity as u64)
        .ghost_allocation(0.1);
    Cache::with_options(
        options.build().expect("complete options"),
        UnitWeighter,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

/// For the exploration, which copies and compares states.
#[cfg(test)]
mod copying {
    use super::{
        Arc, AtomicU64, BootTime, Cache, Credential, DefaultHashBuilder, DefaultLifecycle, Duration, Entry,
        Fill, Known, Marks, Mutant, OptionsBuilder, Ordering, UnitWeighter, VerificationCache,
    };

    impl Known {
        /// Without a look at the lease.
        pub(crate) const fn unchecked(self, now: BootTime) -> Fill {
            self.fill(now)
        }
    }

    impl VerificationCache {
        /// A small one, which is quickly copied.
        pub(crate) fn small(greatest_age: Duration, mutant: Option<Mutant>) -> Self {
            Self {
                entries: few_entries(),
                marks: Marks::new(8),
                greatest_age,
                mutant,
                ..Self::new(8)
            }
        }

        pub(crate) const fn mutant(&self) -> Option<Mutant> {
            self.mutant
        }

        /// Another cache that holds the same.
        pub(crate) fn fork(&self) -> Self {
            let snapshot = self.marks.snapshot();
            let fork = Self {
                entries: few_entries(),
                organizations: Arc::clone(&self.organizations),
                reaches: Arc::clone(&self.reaches),
                marks: Marks::new(snapshot.len() - 2),
                greatest_age: self.greatest_age,
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
        pub(crate) fn fingerprint(&self, now: BootTime) -> (Vec<(u8, Duration)>, Option<u64>) {
            let current = self.entries.iter().filter(|(_, entry)| {
                self.is_young(entry, now) && self.marks.are_older_than(entry.known, entry.subjects())
            });
            let mut entries: Vec<(u8, Duration)> = current
                .map(|(digest, entry)| (digest[0], self.left_of(entry.usable_until, now)))
                .collect();
            entries.sort_unstable();
            let lease_ends = self.lease_ends.load(Ordering::SeqCst);
            let left = lease_ends.saturating_sub(now.nanoseconds());
            (entries, (lease_ends > 0).then_some(left))
        }

        /// For how long what a query finds of this credential would be remembered.
        pub(crate) fn would_fill(
            &self,
            fill: Fill,
            credential: &Credential,
            now: BootTime,
        ) -> Option<Duration> {
            let is_current = self.is_current(credential, self.known_by(fill));
            self.age_left(fill.begun, now).filter(|_| is_current)
        }

        /// For how long what was read at this moment may be answered; nothing if it may no more.
        pub(crate) fn age_left(&self, begun: BootTime, now: BootTime) -> Option<Duration> {
            let left = self.left_of(begun.after(self.greatest_age), now);
            (!left.is_zero()).then_some(left)
        }

        /// Nobody waits for the end of what is kept for ever.
        fn left_of(&self, usable_until: BootTime, now: BootTime) -> Duration {
            if self.greatest_age == Duration::MAX || self.mutant == Some(Mutant::AgeIgnored) {
                Duration::MAX
            } else {
                usable_until.elapsed_since(now)
            }
        }
    }

    fn few_entries() -> Cache<[u8; 32], Arc<Entry>> {
        let mut options = OptionsBuilder::new();
        let options = options.shards(1).estimated_items_capacity(8).weight_capacity(8);
        Cache::with_options(
            options.build().unwrap(),
            UnitWeighter,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        )
    }
}
