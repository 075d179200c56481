//! Changes that took access away, as the audit log records them.
//!
//! A database that is restored from a backup lacks the changes that were made after the backup. Until those
//! that took access away are repeated, it gives access that had ended.

mod origin;
mod recorded;
mod removal;

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use self::recorded::{ChangedThing, NewerEvent, Removal};
use crate::audit::{Action, Actor, AuditEvent, Outcome};
use crate::id::OrganizationId;
use crate::ports::AuditPosition;
use crate::sign_in::session::Session;

pub use self::removal::{AccessRemoval, ManualRemoval};

/// The access that audit events record as removed. Keeps the latest change of each thing, and of other
/// events at most their positions.
#[derive(Debug, Clone, Default)]
pub struct AccessRemovals {
    latest: HashMap<ChangedThing, Change>,
    /// The positions of all events that took access away, even if a later event gave it back.
    removals: Vec<AuditPosition>,
    last_event: Option<LastEvent>,
    /// By the clocks of servers.
    last_of_servers: DateTime<Utc>,
    newer_events: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LastEvent {
    position: AuditPosition,
    is_export: bool,
}

#[derive(Debug, Clone, Copy)]
struct Change {
    position: AuditPosition,
    organization: Option<OrganizationId>,
    removal: Option<Removal>,
}

/// The removals to repeat, in the order of their events, each with its organization if its event names one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovalsToRepeat {
    /// The changes that an administrator can repeat through the use cases.
    pub removals: Vec<(Option<OrganizationId>, AccessRemoval)>,
    /// The changes that the users concerned, or an owner, have to repeat.
    pub manual: Vec<(Option<OrganizationId>, ManualRemoval)>,
    /// How many successful events only a newer version can read: they may have taken access away.
    pub newer_events: u32,
}

impl AccessRemovals {
    /// Adds an event. Events may come in any order, and more than once: those of one object are ordered by
    /// time, as lists of events are. So if the clocks of two servers differ by seconds, changes within these
    /// seconds may be ordered wrongly.
    pub fn add(&mut self, event: &AuditEvent) {
        let position = AuditPosition::from(event);
        self.last_event = self.last_event.max(Some(LastEvent {
            position,
            is_export: event.action == Action::ExportAuditLog,
        }));
        // The command line may have run on the machine that repeats, by the same clock.
        if event.actor != Actor::Administrator {
            self.last_of_servers = self.last_of_servers.max(event.at);
        }
        if event.outcome == Outcome::Refused {
            return;
        }
        match recorded::change_of(event) {
            Ok(Some((thing, removal))) => {
                let change = Change {
                    position,
                    organization: event.organization_id,
                    removal,
                };
                self.removals.extend(removal.map(|_| position));
                let latest = self.latest.entry(thing).or_insert(change);
                if latest.position < position {
                    *latest = change;
                }
            }
            Ok(None) => {}
            Err(NewerEvent) => self.newer_events += 1,
        }
    }

    /// The removals to repeat. Left out are those that a later event undid, and parts of others: a membership
    /// ends with its role and its places in projects, and a password is reset together with the sessions. A
    /// planned end is left to people unless a server recorded that it came: an end is final, and the clock of
    /// this machine or of the event may be wrong.
    #[must_use]
    pub fn to_repeat(&self, now: DateTime<Utc>) -> RemovalsToRepeat {
        let changes = self.latest.values();
        let removed = changes.filter_map(|change| Some((change, change.removal?)));
        let mut removed: Vec<_> = removed.collect();
        removed.sort_by_key(|(change, _)| change.position);
        let all: HashSet<Removal> = removed.iter().map(|(_, removal)| *removal).collect();
        // Sessions of before are over, by two clocks.
        let oldest_session = self.last_of_servers.min(now) - Session::ABSOLUTE_TIMEOUT;
        let mut to_repeat = RemovalsToRepeat {
            newer_events: self.newer_events,
            ..RemovalsToRepeat::default()
        };
        for (change, removal) in removed {
            if removal.part_of().is_some_and(|whole| all.contains(&whole)) {
                continue;
            }
            match removal {
                Removal::Access(removal) => to_repeat.removals.push((change.organization, removal)),
                Removal::Manual(ManualRemoval::Sessions(_)) if change.position.at <= oldest_session => {}
                Removal::Manual(removal) => to_repeat.manual.push((change.organization, removal)),
            }
        }
        to_repeat
    }
}

#[cfg(test)]
mod tests;
