//! How many changes were repeated, of each kind.

use std::collections::BTreeMap;

use keyward_domain::access_removals::{AccessRemoval, RemovalsToRepeat};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::organization::Slug;
use keyward_domain::ports::StorageError;

use crate::output;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RemovalKind {
    ApiKey,
    Membership,
    OwnerRole,
    Invitation,
    Project,
    ProjectMember,
}

/// How many changes of one kind.
#[derive(Default)]
pub(super) struct Tally {
    to_repeat: u32,
    /// Changes whose subjects exist in the database.
    pub(super) found: u32,
    pub(super) repeated: u32,
    pub(super) already_so: u32,
}

pub(super) struct Summary {
    tallies: BTreeMap<RemovalKind, Tally>,
    newer_events: u32,
    pub(super) has_failed: bool,
}

impl Summary {
    pub(super) fn of(to_repeat: &RemovalsToRepeat) -> Self {
        let mut summary = Self {
            tallies: BTreeMap::new(),
            newer_events: to_repeat.newer_events,
            has_failed: false,
        };
        for (_, removal) in &to_repeat.removals {
            summary.tally(RemovalKind::of(removal)).to_repeat += 1;
        }
        summary
    }

    pub(super) fn tally(&mut self, kind: RemovalKind) -> &mut Tally {
        self.tallies.entry(kind).or_default()
    }

    /// Reports at once that a change was refused. The other changes are still repeated.
    pub(super) fn refused(&mut self, what: &str, organization: &Slug, reason: &str) {
        self.has_failed = true;
        output::report(&format!("Not repeated in {organization}: {what}: {reason}"));
    }

    /// Reports a failure at once; the command continues with the remaining changes.
    pub(super) fn failed(&mut self, what: &str, error: &StorageError) {
        self.has_failed = true;
        output::report(&format!("{what}: {}", sentence(error)));
    }

    pub(super) const fn is_complete(&self) -> bool {
        !self.has_failed && self.newer_events == 0
    }

    /// A line for each kind of which the log has a change.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let is_empty = self.tallies.is_empty();
        let nothing = is_empty.then(|| "The log has no change that can be repeated.".to_owned());
        let lines = self.tallies.iter().map(|(kind, tally)| {
            let Tally {
                to_repeat,
                found,
                repeated,
                already_so,
            } = tally;
            format!(
                "{}: {repeated} repeated, {already_so} already so, {} not in this database, {} left",
                kind.label(),
                to_repeat - found,
                found - repeated - already_so,
            )
        });
        let newer = (self.newer_events > 0).then(|| {
            format!(
                "Events of a newer version of Keyward: {} left. Run this command with that version",
                self.newer_events
            )
        });
        nothing.into_iter().chain(lines).chain(newer)
    }
}

impl RemovalKind {
    pub(super) const fn of(removal: &AccessRemoval) -> Self {
        match removal {
            AccessRemoval::ApiKey(_) => Self::ApiKey,
            AccessRemoval::Membership(_) => Self::Membership,
            AccessRemoval::OwnerRole(_) => Self::OwnerRole,
            AccessRemoval::Invitation(_) => Self::Invitation,
            AccessRemoval::Project(_) => Self::Project,
            AccessRemoval::ProjectMember { .. } => Self::ProjectMember,
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::ApiKey => "API keys revoked",
            Self::Membership => "Memberships ended",
            Self::OwnerRole => "Owners made members",
            Self::Invitation => "Invitations closed",
            Self::Project => "Projects archived",
            Self::ProjectMember => "Members removed from projects",
        }
    }
}
