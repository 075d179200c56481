//! For the exploration, which copies and compares states.

use super::{
    AtomicU64, BootTime, Credential, Duration, Entries, Fill, Known, Marks, MembershipId, Mutant, Ordering,
    Organizations, Reached, Reaches, UnitWeighter, VerificationCache, cache, reaches_within,
};

/// The state by which caches are compared at one moment: the entries that a cache can still answer with, for
/// how long, and how much of its lease is left.
pub(crate) type Fingerprint = (Vec<(u8, Duration)>, Vec<(u8, bool, Duration)>, Option<u64>);

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
            organizations: Organizations::few(),
            reaches: few_reaches(),
            marks: Marks::new(8),
            greatest_age,
            mutant,
            ..Self::new(0)
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
            organizations: self.organizations.fork(),
            reaches: few_reaches(),
            marks: Marks::new(snapshot.len() - 3),
            greatest_age: self.greatest_age,
            lease_ends: AtomicU64::new(self.lease_ends.load(Ordering::SeqCst)),
            mutant: self.mutant,
        };
        fork.marks.restore(&snapshot);
        for (digest, entry) in self.entries.iter() {
            fork.entries.insert(digest, entry);
        }
        for (consumer, reach) in self.reaches.iter() {
            fork.reaches.insert(consumer, reach);
        }
        fork
    }

    pub(crate) fn fingerprint(&self, now: BootTime) -> Fingerprint {
        let entries = self.entries.iter().filter(|(_, entry)| {
            self.is_young(entry.usable_until, now) && self.marks.are_older_than(entry.known, entry.subjects())
        });
        let mut entries: Vec<_> = entries
            .map(|(digest, entry)| (digest[0], self.left_of(entry.usable_until, now)))
            .collect();
        entries.sort_unstable();
        let reaches = self.reaches.iter().filter(|(consumer, reach)| {
            let is_current = reach.projects.is_current(*consumer, reach.known, &self.marks);
            is_current && self.is_young(reach.usable_until, now)
        });
        let mut reaches: Vec<_> = reaches
            .map(|(consumer, reach)| {
                let [.., byte] = *consumer.as_uuid().as_bytes();
                let reaches_any = matches!(reach.projects, Reached::All(_));
                (byte, reaches_any, self.left_of(reach.usable_until, now))
            })
            .collect();
        reaches.sort_unstable();
        let lease_ends = self.lease_ends.load(Ordering::SeqCst);
        let left = lease_ends.saturating_sub(now.nanoseconds());
        (entries, reaches, (lease_ends > 0).then_some(left))
    }

    /// For how long the result of a query for this credential would be remembered.
    pub(crate) fn would_fill(&self, fill: Fill, credential: &Credential, now: BootTime) -> Option<Duration> {
        let is_current = self.is_current(credential, self.known_by(fill));
        self.age_left(fill.begun, now).filter(|_| is_current)
    }

    /// For how long it would be remembered that a consumer reaches these projects.
    pub(crate) fn would_fill_reached(
        &self,
        fill: Fill,
        consumer: MembershipId,
        projects: &Reached,
        now: BootTime,
    ) -> Option<Duration> {
        let is_current = projects.is_current(consumer, self.known_by(fill), &self.marks);
        self.age_left(fill.begun, now).filter(|_| is_current)
    }

    /// For how long a result read at `begun` may still be answered; `None` once it may not.
    pub(crate) fn age_left(&self, begun: BootTime, now: BootTime) -> Option<Duration> {
        let left = self.left_of(begun.after(self.greatest_age), now);
        (!left.is_zero()).then_some(left)
    }

    /// Constant if entries do not age, so that states that differ only in age are one.
    fn left_of(&self, usable_until: BootTime, now: BootTime) -> Duration {
        if self.greatest_age == Duration::MAX || self.mutant == Some(Mutant::AgeIgnored) {
            Duration::MAX
        } else {
            usable_until.elapsed_since(now)
        }
    }
}

fn few_entries() -> Entries {
    cache(8, 8, UnitWeighter)
}

fn few_reaches() -> Reaches {
    reaches_within(16 * 1024)
}
