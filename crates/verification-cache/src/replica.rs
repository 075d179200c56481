//! The protocol of a replica: what it does after each poll.

use std::sync::Arc;

use keyward_domain::access_changes::{ChangeNumber, Concern, PolledChanges};

use crate::LEASE;
use crate::boot_time::BootTime;
use crate::cache::VerificationCache;
#[cfg(test)]
use crate::mutant::Mutant;

/// The state of one caching server in the protocol with the database. It alone evicts entries of its cache
/// and renews its lease.
///
/// Its owner registers it, then polls repeatedly: it notes when it sends each poll, and passes the result on.
/// The replica returns what to do [next](Next). An error of the database needs no call, except that of an
/// acknowledgement: the lease ends by itself.
pub struct Replica {
    cache: Arc<VerificationCache>,
    /// The number that is known to stand in the replica's row; nothing while an acknowledgement is under way.
    acknowledged: Option<ChangeNumber>,
}

/// The next step of a replica after a poll.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Next {
    /// Wait for the next poll: the lease was renewed.
    Poll,
    /// Report to the database the last change that it has seen; only that renews the lease. The entries that
    /// the changes concern were evicted before.
    Acknowledge(Acknowledgement),
    /// Register again: the database knows it no longer.
    Register,
}

/// An acknowledgement that is to be written to the database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Acknowledgement {
    sent: BootTime,
    counter: ChangeNumber,
    emptied: Option<Emptied>,
    #[cfg(test)]
    unevicted: Vec<Concern>,
}

/// Why a cache was emptied, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Emptied {
    /// The counter is lower than before: the database was restored from a backup.
    CounterJumpedBack,
    /// More changed between two polls than the log holds.
    GapInLog,
    /// The database does not hold the acknowledgement of this replica, or may not.
    OtherAcknowledgement,
}

impl Replica {
    /// A replica that is not registered yet.
    #[must_use]
    pub fn new(cache: Arc<VerificationCache>) -> Self {
        cache.end_lease();
        cache.clear();
        Self {
            cache,
            acknowledged: None,
        }
    }

    /// Comes before the registration is sent: until it is confirmed, there is neither a lease nor anything
    /// remembered.
    pub fn begin_registration(&mut self) {
        self.acknowledged = None;
        self.cache.end_lease();
        self.cache.clear();
    }

    /// The registration that was sent at this moment is confirmed, with the counter as it read it.
    pub fn registered(&mut self, sent: BootTime, counter: ChangeNumber) {
        self.acknowledged = Some(counter);
        self.cache.renew_lease(sent.after(LEASE));
    }

    /// After which number to ask for changes.
    #[must_use]
    pub const fn last_acknowledged(&self) -> Option<ChangeNumber> {
        self.acknowledged
    }

    /// Handles the result of a poll that was sent at this time. When this returns, all changed entries are
    /// evicted.
    pub fn polled(&mut self, sent: BootTime, polled: &PolledChanges) -> Next {
        let Some(in_row) = polled.acknowledged else {
            return self.struck_off(sent);
        };
        let counter = polled.counter;
        let emptied = match self.acknowledged {
            Some(mine) if counter < mine => Emptied::CounterJumpedBack,
            Some(mine) if !self.agrees(mine, in_row) => Emptied::OtherAcknowledgement,
            Some(mine) if counter == mine => {
                self.cache.renew_lease(sent.after(LEASE));
                return Next::Poll;
            }
            Some(mine) => match self.changes_after(mine, polled) {
                Some(changes) => return self.evict(sent, counter, changes),
                None => Emptied::GapInLog,
            },
            None => Emptied::OtherAcknowledgement,
        };
        self.cache.clear();
        self.acknowledge(sent, counter, Some(emptied), Vec::new())
    }

    /// How far the database has taken the acknowledgement: whether it still knows this replica.
    pub fn acknowledged(&mut self, acknowledgement: Acknowledgement, is_registered: bool) -> Next {
        #[cfg(test)]
        self.cache.evict(acknowledgement.unevicted);
        if !is_registered {
            return self.struck_off(acknowledgement.sent);
        }
        self.acknowledged = Some(acknowledgement.counter);
        // Changes that the poll did not read were committed after it was sent.
        self.cache.renew_lease(acknowledgement.sent.after(LEASE));
        Next::Poll
    }

    /// Comes before the replica is removed from the database: from now on, every verification asks the
    /// database.
    pub fn leave(&mut self) {
        self.begin_registration();
    }

    fn evict(&mut self, sent: BootTime, counter: ChangeNumber, changes: Vec<Concern>) -> Next {
        #[cfg(test)]
        match self.cache.mutant() {
            Some(Mutant::AcknowledgedBeforeEvicted) => return self.acknowledge(sent, counter, None, changes),
            Some(Mutant::LeaseWithoutAcknowledgement) => self.cache.renew_lease(sent.after(LEASE)),
            _ => {}
        }
        self.cache.evict(changes);
        self.acknowledge(sent, counter, None, Vec::new())
    }

    fn acknowledge(
        &mut self,
        sent: BootTime,
        counter: ChangeNumber,
        emptied: Option<Emptied>,
        #[cfg_attr(
            not(test),
            expect(unused_variables, reason = "a mutant of the tests evicts later")
        )]
        unevicted: Vec<Concern>,
    ) -> Next {
        self.acknowledged = None;
        Next::Acknowledge(Acknowledgement {
            sent,
            counter,
            emptied,
            #[cfg(test)]
            unevicted,
        })
    }

    #[cfg_attr(
        not(test),
        expect(unused_variables, reason = "a mutant of the tests renews the lease")
    )]
    fn struck_off(&mut self, sent: BootTime) -> Next {
        #[cfg(test)]
        if self.cache.mutant() == Some(Mutant::StrikingOffIgnored) {
            self.cache.renew_lease(sent.after(LEASE));
            return Next::Poll;
        }
        self.begin_registration();
        Next::Register
    }

    /// Whether the database holds the acknowledgement of this replica. If not, it was restored from a backup,
    /// and its numbers may mean other changes.
    fn agrees(&self, mine: ChangeNumber, in_row: ChangeNumber) -> bool {
        #[cfg(test)]
        if self.cache.mutant() == Some(Mutant::RestoredRowIgnored) {
            return true;
        }
        mine == in_row
    }

    fn changes_after(&self, mine: ChangeNumber, polled: &PolledChanges) -> Option<Vec<Concern>> {
        let changes = polled.changes_after(mine);
        #[cfg(test)]
        if self.cache.mutant() == Some(Mutant::GapInLogIgnored) {
            return Some(polled.changes.iter().map(|(_, concern)| *concern).collect());
        }
        changes
    }
}

impl Acknowledgement {
    /// The number to write down.
    #[must_use]
    pub const fn counter(&self) -> ChangeNumber {
        self.counter
    }

    /// Why the whole cache was emptied, if it was.
    #[must_use]
    pub const fn emptied(&self) -> Option<Emptied> {
        self.emptied
    }
}

/// For the exploration, which copies states.
#[cfg(test)]
impl Replica {
    pub(crate) fn fork(&self, cache: Arc<VerificationCache>) -> Self {
        Self {
            cache,
            acknowledged: self.acknowledged,
        }
    }
}

#[cfg(test)]
impl Acknowledgement {
    pub(crate) const fn sent(&self) -> BootTime {
        self.sent
    }
}
