//! One server that caches: what verifies, and what polls.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::access_changes::{ChangeNumber, PolledChanges};

use super::database::Database;
use super::explored_change::{ExploredChange, Key};
use crate::boot_time::BootTime;
use crate::cache::{CacheFingerprint, Known};
use crate::mutant::Mutant;
use crate::{Acknowledgement, Fill, LEASE, Next, Replica, VerificationCache};

pub(super) struct Machine {
    /// New at each start.
    pub(super) id: u8,
    change: ExploredChange,
    cache: Arc<VerificationCache>,
    replica: Replica,
    poller: Poller,
    verification: Verification,
}

/// The parts of a machine by which states at the same moment are compared.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Fingerprint {
    id: u8,
    cache: CacheFingerprint,
    acknowledged: Option<ChangeNumber>,
    /// The next step, the age of the poll, and the message on its way.
    poller: (
        Discriminant<Poller>,
        Duration,
        Option<ChangeNumber>,
        Option<PolledChanges>,
        bool,
    ),
    /// The next step, the key, whether it began late, for how long its result would be remembered, and the
    /// rest.
    verification: (
        Discriminant<Verification>,
        Key,
        bool,
        [Option<Duration>; 2],
        [bool; 2],
    ),
}

/// The progress of a round of polling.
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

/// The progress of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Verification {
    None,
    /// It has taken the time.
    Begun {
        key: Key,
        now: BootTime,
        is_late: bool,
    },
    /// The cache did not have the key, and the first half of the question is answered whether it may fill.
    Missed {
        key: Key,
        now: BootTime,
        half: Half,
        is_late: bool,
    },
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

/// Which is read first before a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Half {
    Known(Known),
    /// The mutant's order.
    Lease(bool),
}

/// How a step of a verification ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verified {
    NotYet,
    /// It was refused, or accepted and had begun before the answer to the revocation.
    Rightly,
    AcceptedLate,
}

impl Machine {
    pub(super) fn start(
        id: u8,
        change: ExploredChange,
        greatest_age: Duration,
        mutant: Option<Mutant>,
    ) -> Self {
        let cache = Arc::new(VerificationCache::small(greatest_age, mutant));
        Self {
            id,
            change,
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
            change: self.change,
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
        let fills = |key, fill: Fill| self.change.would_fill(&self.cache, fill, key, now);
        let none = [None; 2];
        // Whether the lease covers that moment, and whether it will if the poll under way is answered. The
        // leases of later polls all do.
        let leases = |then: BootTime| {
            let will = then.nanoseconds() < sent.after(LEASE).nanoseconds();
            [self.cache.has_lease(then), will]
        };
        let (key, is_late, remembered, rest) = match self.verification {
            Verification::None => (0, false, none, [false; 2]),
            Verification::Begun {
                key,
                now: begun,
                is_late,
            } => (key, is_late, [self.cache.age_left(begun, now); 2], leases(begun)),
            Verification::Missed {
                key,
                now: begun,
                half,
                is_late,
            } => match half {
                Half::Known(known) => match fills(key, known.unchecked(begun)) {
                    remembered if remembered == none => (key, is_late, none, [false; 2]),
                    remembered => (key, is_late, remembered, leases(begun)),
                },
                Half::Lease(is_leased) => (
                    key,
                    is_late,
                    [self.cache.age_left(begun, now); 2],
                    [is_leased, false],
                ),
            },
            Verification::Asking { key, fill, is_late } => (
                key,
                is_late,
                fill.map_or(none, |fill| fills(key, fill)),
                [false; 2],
            ),
            Verification::Read {
                key,
                fill,
                is_late,
                found,
            } => (
                key,
                is_late,
                fill.map_or(none, |fill| fills(key, fill)),
                [found, false],
            ),
        };
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
            verification: (discriminant(&self.verification), key, is_late, remembered, rest),
        }
    }

    /// Whether a message is under way that may be lost.
    pub(super) fn awaits_answer(&self) -> bool {
        !matches!(self.poller, Poller::Unregistered | Poller::Resting)
    }

    pub(super) fn is_verifying(&self) -> bool {
        self.verification != Verification::None
    }

    pub(super) const fn is_before_query(&self) -> bool {
        matches!(
            self.verification,
            Verification::Begun { .. } | Verification::Missed { .. }
        )
    }

    /// The next step of the verification: read the clock; ask the cache and read the generation; look at the
    /// lease; query the database; remember the result and answer.
    pub(super) fn verify(&mut self, key: Key, now: BootTime, is_late: bool, database: &Database) -> Verified {
        match self.verification {
            Verification::None => {
                self.verification = Verification::Begun { key, now, is_late };
                Verified::NotYet
            }
            Verification::Begun { key, now, is_late } => {
                if let Some(found) = self.change.find(&self.cache, key, now) {
                    return self.answer(found && is_late);
                }
                let half = match self.cache.mutant() {
                    Some(Mutant::LeaseCheckedFirst) => Half::Lease(self.cache.has_lease(now)),
                    _ => Half::Known(self.cache.known()),
                };
                self.verification = Verification::Missed {
                    key,
                    now,
                    half,
                    is_late,
                };
                Verified::NotYet
            }
            Verification::Missed {
                key,
                now,
                half,
                is_late,
            } => {
                let fill = match half {
                    Half::Known(known) => self.cache.under_lease(known, now),
                    Half::Lease(true) => Some(self.cache.known().unchecked(now)),
                    Half::Lease(false) => None,
                };
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
                if let Some(fill) = fill {
                    // As it was read, even if it was revoked since.
                    self.change.fill(&self.cache, fill, key, found);
                }
                self.answer(found && is_late)
            }
        }
    }

    pub(super) const fn is_asking(&self) -> bool {
        matches!(self.verification, Verification::Asking { .. })
    }

    /// A former primary answers the query and does not know of the revocation. That this verification accepts
    /// the key is no error of the protocol.
    pub(super) fn be_misled(&mut self) {
        if let Verification::Asking { key, fill, .. } = self.verification {
            self.verification = Verification::Read {
                key,
                fill,
                is_late: false,
                found: true,
            };
        }
    }

    const fn answer(&mut self, is_accepted_late: bool) -> Verified {
        self.verification = Verification::None;
        if is_accepted_late {
            Verified::AcceptedLate
        } else {
            Verified::Rightly
        }
    }

    /// The revocations after which verifications count as late were lost with the database's last changes,
    /// but for these.
    pub(super) fn forget_answers(&mut self, but: [bool; 2]) {
        match &mut self.verification {
            Verification::None => {}
            Verification::Begun { key, is_late, .. }
            | Verification::Missed { key, is_late, .. }
            | Verification::Asking { key, is_late, .. }
            | Verification::Read { key, is_late, .. } => *is_late &= but[*key],
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
