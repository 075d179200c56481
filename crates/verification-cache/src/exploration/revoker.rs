//! Whoever revokes a key and waits for the answer.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use keyward_domain::access_changes::ChangeNumber;

use super::database::{Database, Key};
use crate::boot_time::BootTime;
use crate::mutant::Mutant;
use crate::{Verdict, Wait};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Revoker {
    /// Has not begun.
    Waiting,
    /// The change is committed.
    Committed(Wait),
    /// Has answered, or was never heard of again.
    Done,
}

/// What distinguishes it from another state at the same moment: which step is next, for how long it has waited, and for
/// which number.
pub(super) type Fingerprint = (Discriminant<Revoker>, Duration, Option<(ChangeNumber, Duration)>);

impl Revoker {
    pub(super) fn fingerprint(&self, now: BootTime) -> Fingerprint {
        let (begun, target) = match self {
            Self::Waiting | Self::Done => (now, None),
            Self::Committed(wait) => (wait.begun(), wait.target()),
        };
        let waited = |since: BootTime| now.elapsed_since(since).min(Wait::LONGEST);
        let target = target.map(|(number, read)| (number, waited(read)));
        (discriminant(self), waited(begun), target)
    }

    /// The next step; whether it is the answer.
    pub(super) fn step(
        &mut self,
        key: Key,
        now: BootTime,
        database: &mut Database,
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
                let mut wait = Wait::begin(now);
                wait.mutant = mutant;
                *self = Self::Committed(wait);
                false
            }
            Self::Committed(wait) => match wait.replicas(now, &database.replicas()) {
                Verdict::Wait => false,
                Verdict::Done => {
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
