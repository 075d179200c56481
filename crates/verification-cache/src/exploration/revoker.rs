//! A request that revokes a key, and waits until no replica accepts the key before it is answered.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use keyward_domain::access_changes::ChangeNumber;

use super::database::Database;
use super::explored_change::Key;
use super::watch::Watch;
use crate::boot_time::BootTime;
use crate::mutant::Mutant;
use crate::{ReadingNumber, Verdict, Wait};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Revoker {
    /// The request has not begun.
    Waiting,
    /// The change is committed.
    Committed(Wait),
    /// The request was answered.
    Done,
}

/// The parts of a revoker that determine how it behaves from now on: the next step, how long it has waited,
/// the change number that it waits for and how long ago that was read, and whether the shared reader's last
/// answered reading and the one under way know of the change.
pub(super) type Fingerprint = (
    Discriminant<Revoker>,
    Duration,
    Option<(ChangeNumber, Duration)>,
    [bool; 2],
);

impl Revoker {
    pub(super) fn fingerprint(&self, now: BootTime, watch: &Watch) -> Fingerprint {
        let (begun, target, knows) = match self {
            Self::Waiting | Self::Done => (now, None, [false; 2]),
            Self::Committed(wait) => {
                let knows = watch
                    .readings()
                    .map(|reading| reading.is_some_and(|(number, _)| wait.knows(*number)));
                (wait.begun(), wait.target(), knows)
            }
        };
        let waited = |since: BootTime| now.elapsed_since(since).min(Wait::LONGEST);
        let target = target.map(|(number, read)| (number, waited(read)));
        (discriminant(self), waited(begun), target, knows)
    }

    /// Takes the next step. Returns whether it answers the request.
    pub(super) fn step(
        &mut self,
        key: Key,
        now: BootTime,
        database: &mut Database,
        watch: Option<&Watch>,
        mutant: Option<Mutant>,
    ) -> bool {
        match self {
            Self::Waiting => {
                let is_repetition = database.is_revoked(key);
                database.revoke(key);
                if is_repetition && mutant == Some(Mutant::RepetitionNotAwaited) {
                    *self = Self::Done;
                    return true;
                }
                let last_reading = watch.map(Watch::last_begun).unwrap_or_default();
                let mut wait = Wait::begin(now, last_reading);
                wait.mutant = mutant;
                *self = Self::Committed(wait);
                false
            }
            Self::Committed(wait) => match verdict(wait, now, database, watch) {
                Verdict::Wait if !wait.is_over(now) => false,
                Verdict::Wait | Verdict::Done => {
                    *self = Self::Done;
                    true
                }
                Verdict::StrikeOff(replicas, unless_seen) => {
                    for replica in replicas {
                        database.strike_off(replica, unless_seen);
                    }
                    *self = Self::Done;
                    true
                }
            },
            Self::Done => false,
        }
    }
}

/// Judges by the last answered reading of the shared reader or, without one, by a reading of its own.
fn verdict(wait: &mut Wait, now: BootTime, database: &Database, watch: Option<&Watch>) -> Verdict {
    match watch.map(Watch::readings) {
        None => wait.replicas(now, ReadingNumber::default().next(), &database.replicas()),
        Some([Some((number, replicas)), _]) => wait.replicas(now, *number, replicas),
        Some([None, _]) => Verdict::Wait,
    }
}
