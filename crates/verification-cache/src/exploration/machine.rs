//! One server that caches: what verifies, and what polls.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::access_changes::{ChangeNumber, PolledChanges};

use super::database::{Database, Key, digest};
use crate::boot_time::BootTime;
use crate::mutant::Mutant;
use crate::{Acknowledgement, Fill, LEASE, Next, Replica, VerificationCache};

pub(super) struct Machine {
    /// New at each start.
    pub(super) id: u8,
    cache: Arc<VerificationCache>,
    replica: Replica,
    poller: Poller,
    verification: Verification,
}

/// What distinguishes it from another state at the same moment.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Fingerprint {
    id: u8,
    cache: (Vec<u8>, Option<u64>),
    acknowledged: Option<ChangeNumber>,
    /// Which step is next, how long ago the poll was sent, and what is on its way.
    poller: (
        Discriminant<Poller>,
        Duration,
        Option<ChangeNumber>,
        Option<PolledChanges>,
        bool,
    ),
    /// Which step is next, of which key, whether it may fill, began late, and found the key valid.
    verification: (Discriminant<Verification>, Key, bool, bool, bool),
}

/// Where a round of polling stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Poller {
    Unregistered,
    Registering { sent: BootTime },
    Registered { sent: BootTime, counter: ChangeNumber },
    Resting,
    Polling { sent: BootTime },
    Polled { sent: BootTime, polled: PolledChanges },
    Acknowledging(Acknowledgement),
    Acknowledged(Acknowledgement, bool),
}

/// Where a verification stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Verification {
    None,
    /// The query is under way.
    Asking {
        key: Key,
        fill: Option<Fill>,
        is_late: bool,
    },
    /// It has read its snapshot.
    Read {
        key: Key,
        fill: Option<Fill>,
        is_late: bool,
        found: bool,
    },
}

/// How a step of a verification ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verified {
    NotYet,
    Refused,
    Accepted,
}

impl Machine {
    pub(super) fn start(id: u8, mutant: Option<Mutant>) -> Self {
        let cache = Arc::new(VerificationCache::with_slots(8, 8).with_mutant(mutant));
        Self {
            id,
            replica: Replica::new(Arc::clone(&cache)),
            cache,
            poller: Poller::Unregistered,
            verification: Verification::None,
        }
    }

    pub(super) fn fork(&self) -> Self {
        let cache = Arc::new(self.cache.fork());
        Self {
            id: self.id,
            replica: self.replica.fork(Arc::clone(&cache)),
            cache,
            poller: self.poller.clone(),
            verification: self.verification.clone(),
        }
    }

    pub(super) fn fingerprint(&self, now: BootTime) -> Fingerprint {
        let (sent, number, polled, is_registered) = match &self.poller {
            Poller::Unregistered | Poller::Resting => (now, None, None, false),
            Poller::Registering { sent } | Poller::Polling { sent } => (*sent, None, None, false),
            Poller::Registered { sent, counter } => (*sent, Some(*counter), None, false),
            Poller::Polled { sent, polled } => (*sent, None, Some(polled.clone()), false),
            Poller::Acknowledging(on_its_way) => (on_its_way.sent(), Some(on_its_way.counter()), None, false),
            Poller::Acknowledged(taken, is_registered) => {
                (taken.sent(), Some(taken.counter()), None, *is_registered)
            }
        };
        let fills = |key, fill: Option<Fill>| {
            fill.is_some_and(|fill| self.cache.would_fill(fill, Database::valid(key)))
        };
        let verification = match self.verification {
            Verification::None => (0, false, false, false),
            Verification::Asking { key, fill, is_late } => (key, fills(key, fill), is_late, false),
            Verification::Read {
                key,
                fill,
                is_late,
                found,
            } => (key, fills(key, fill), is_late, found),
        };
        let (key, fills, is_late, found) = verification;
        Fingerprint {
            id: self.id,
            cache: self.cache.fingerprint(now),
            acknowledged: self.replica.last_acknowledged(),
            poller: (
                discriminant(&self.poller),
                now.elapsed_since(sent).min(LEASE),
                number,
                polled,
                is_registered,
            ),
            verification: (discriminant(&self.verification), key, fills, is_late, found),
        }
    }

    /// Whether a message is under way that may be lost.
    pub(super) fn awaits_answer(&self) -> bool {
        !matches!(self.poller, Poller::Unregistered | Poller::Resting)
    }

    pub(super) fn is_verifying(&self) -> bool {
        self.verification != Verification::None
    }

    /// The next step of the verification: to ask the cache, to read the database, to remember and answer.
    pub(super) fn verify(&mut self, key: Key, now: BootTime, is_late: bool, database: &Database) -> Verified {
        match self.verification {
            Verification::None => {
                if self.cache.find(&digest(key), now).is_some() {
                    return Verified::Accepted;
                }
                let fill = self.cache.begin_fill(now);
                self.verification = Verification::Asking { key, fill, is_late };
                Verified::NotYet
            }
            Verification::Asking { key, fill, is_late } => {
                let found = !database.is_revoked(key);
                self.verification = Verification::Read {
                    key,
                    fill,
                    is_late,
                    found,
                };
                Verified::NotYet
            }
            Verification::Read {
                key,
                fill,
                is_late,
                found,
            } => {
                if let (Some(fill), true) = (fill, found) {
                    // As it was read, whatever became of it since.
                    self.cache.fill(fill, &digest(key), Database::valid(key));
                }
                self.verification = Verification::None;
                if found && is_late {
                    Verified::Accepted
                } else {
                    Verified::Refused
                }
            }
        }
    }

    /// The revocations after which verifications count as late were lost with the database's last changes, but for these.
    pub(super) fn forget_answers(&mut self, but: [bool; 2]) {
        if let Verification::Asking { key, is_late, .. } | Verification::Read { key, is_late, .. } =
            &mut self.verification
        {
            *is_late &= but[*key];
        }
    }

    /// The next step of polling: to send, to be read by the database, to take its answer in.
    pub(super) fn poll(&mut self, now: BootTime, database: &mut Database) {
        let sent_late = self.cache.mutant() == Some(Mutant::LeaseCountsFromAnswer);
        self.poller = match self.poller.clone() {
            Poller::Unregistered => {
                self.replica.begin_registration();
                Poller::Registering { sent: now }
            }
            Poller::Registering { sent } => Poller::Registered {
                sent,
                counter: database.register(self.id),
            },
            Poller::Registered { sent, counter } => {
                self.replica.registered(sent, counter);
                Poller::Resting
            }
            Poller::Resting => Poller::Polling { sent: now },
            Poller::Polling { sent } => Poller::Polled {
                sent,
                polled: database.poll(self.id),
            },
            Poller::Polled { sent, polled } => {
                let sent = if sent_late { now } else { sent };
                after(self.replica.polled(sent, &polled))
            }
            Poller::Acknowledging(acknowledgement) => {
                let is_registered = database.acknowledge(self.id, acknowledgement.counter());
                Poller::Acknowledged(acknowledgement, is_registered)
            }
            Poller::Acknowledged(acknowledgement, is_registered) => {
                after(self.replica.acknowledged(acknowledgement, is_registered))
            }
        };
    }

    /// The message under way, or its answer, is lost.
    pub(super) fn lose(&mut self) {
        self.poller = match self.poller {
            Poller::Unregistered | Poller::Registering { .. } | Poller::Registered { .. } => {
                Poller::Unregistered
            }
            _ => Poller::Resting,
        };
    }
}

fn after(next: Next) -> Poller {
    match next {
        Next::Poll => Poller::Resting,
        Next::Acknowledge(acknowledgement) => Poller::Acknowledging(acknowledgement),
        Next::Register => Poller::Unregistered,
    }
}
