//! How long the answer to a revocation waits.

use std::time::Duration;

use keyward_domain::access_changes::{ChangeNumber, RegisteredReplicas, ReplicaId};

use crate::LEASE;
use crate::boot_time::BootTime;
#[cfg(test)]
use crate::mutant::Mutant;

/// How much longer than a lease the wait lasts at most, because no two clocks run equally fast: 2 %.
const MARGIN: Duration = Duration::from_millis(100);

/// How long after the number was read replicas may be struck off. The rest of the margin is for the
/// strike-off itself.
const STRIKE_OFF_AFTER: Duration = LEASE.saturating_add(Duration::from_millis(50));

/// The wait for all replicas to have seen a change.
///
/// It ends when each has acknowledged the counter as it stood when the wait began, or after a lease: a
/// replica that has not seen the change by then read the database last before it was committed, and that
/// lease is over. So it ends in time also if the database does not answer, or does not finish a strike-off.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wait {
    begun: BootTime,
    /// The last reading that may not know of the change.
    last_before: ReadingNumber,
    /// The number that all have to acknowledge, and when it was read.
    target: Option<(ChangeNumber, BootTime)>,
    #[cfg(test)]
    pub(crate) mutant: Option<Mutant>,
}

/// A reading of the replicas, shared by all that wait; each is later than the one before. One that began
/// before a change was committed may not know of it, although it is answered afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ReadingNumber(u64);

impl ReadingNumber {
    /// The reading that begins next.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Whether to wait on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Ask for the replicas again.
    Wait,
    /// No replica accepts the revoked keys.
    Done,
    /// Strike these replicas off, each unless it has seen this number in the meantime: they did not see the
    /// change within their lease, and later revocations need not wait for them.
    StrikeOff(Vec<ReplicaId>, ChangeNumber),
}

impl Wait {
    /// A wait ends after this time at the latest, counted from [`Wait::begin`], even without
    /// acknowledgements.
    pub const LONGEST: Duration = LEASE.saturating_add(MARGIN);

    /// Begins after the change was committed, and after this reading had begun.
    #[must_use]
    pub const fn begin(now: BootTime, last_reading: ReadingNumber) -> Self {
        Self {
            begun: now,
            last_before: last_reading,
            target: None,
            #[cfg(test)]
            mutant: None,
        }
    }

    /// The next step, after these replicas were read from the database.
    #[must_use]
    pub fn replicas(
        &mut self,
        now: BootTime,
        reading: ReadingNumber,
        replicas: &RegisteredReplicas,
    ) -> Verdict {
        #[cfg(test)]
        if self.mutant == Some(Mutant::AcknowledgementNotAwaited) {
            return Verdict::Done;
        }
        if !self.knows(reading) {
            return Verdict::Wait;
        }
        let (target, read) = *self.target.get_or_insert((replicas.counter, now));
        let behind = behind(replicas, target);
        if behind.is_empty() {
            Verdict::Done
        } else if self.may_strike_off(read, now) {
            Verdict::StrikeOff(behind, target)
        } else if self.is_over(now) {
            Verdict::Done
        } else {
            Verdict::Wait
        }
    }

    /// How long to wait for the next reading of the replicas; after that, judge the last one again. Nothing
    /// once it [is over](Self::is_over).
    #[must_use]
    pub fn left(&self, now: BootTime) -> Option<Duration> {
        let end = self.begun.after(Self::LONGEST);
        let strike_off = self.target.map(|(_, read)| read.after(STRIKE_OFF_AFTER));
        let next = strike_off.filter(|moment| now < *moment && *moment < end);
        (!self.is_over(now)).then(|| next.unwrap_or(end).elapsed_since(now))
    }

    /// The replicas to strike off after the wait, unless they have seen this number in the meantime, and how
    /// long after this time: those that were behind at the last reading, if the number was read too late for
    /// a strike-off during the wait. Otherwise each later revocation would wait as long for them again.
    #[must_use]
    pub fn strike_off_afterwards(
        &self,
        now: BootTime,
        replicas: &RegisteredReplicas,
    ) -> Option<(Duration, Vec<ReplicaId>, ChangeNumber)> {
        let (target, read) = self.target?;
        let behind = behind(replicas, target);
        let left = read.after(STRIKE_OFF_AFTER).elapsed_since(now);
        (!behind.is_empty()).then_some((left, behind, target))
    }

    /// Whether a reading knows of the change.
    pub(crate) fn knows(&self, reading: ReadingNumber) -> bool {
        #[cfg(test)]
        if self.mutant == Some(Mutant::EarlierReadingTaken) {
            return true;
        }
        reading > self.last_before
    }

    /// The number may be that of a change later than the one waited for: a replica that has not seen it is
    /// without a lease only a lease after it was read.
    fn may_strike_off(&self, read: BootTime, now: BootTime) -> bool {
        #[cfg(test)]
        if self.mutant == Some(Mutant::StruckOffTooEarly) {
            return self.is_over(now);
        }
        now.elapsed_since(read) >= STRIKE_OFF_AFTER
    }

    /// Whether it has reached its maximum: then no replica accepts the revoked keys, whether the database
    /// answers or not.
    #[must_use]
    pub fn is_over(&self, now: BootTime) -> bool {
        #[cfg(test)]
        if self.mutant == Some(Mutant::WaitShorterThanLease) {
            return now.elapsed_since(self.begun) >= LEASE / 2;
        }
        now.elapsed_since(self.begun) >= Self::LONGEST
    }
}

fn behind(replicas: &RegisteredReplicas, target: ChangeNumber) -> Vec<ReplicaId> {
    let replicas = replicas.replicas.iter();
    replicas
        .filter(|replica| replica.acknowledged < target)
        .map(|replica| replica.id)
        .collect()
}

/// For the exploration, which compares states.
#[cfg(test)]
impl Wait {
    pub(crate) const fn begun(&self) -> BootTime {
        self.begun
    }

    pub(crate) const fn target(&self) -> Option<(ChangeNumber, BootTime)> {
        self.target
    }
}
