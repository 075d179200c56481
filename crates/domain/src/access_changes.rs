//! Changes of what keys may do or reach, and the servers that have to know of them.
//!
//! A server that remembers verifications is a *replica*. Each change is numbered in the transaction that
//! makes it; each replica reports to the store up to which number it has seen the changes. See
//! [`AccessChanges`](crate::ports::AccessChanges).

mod concerns;

use std::num::NonZeroU64;

use crate::audit::{Action, AuditEvent, Outcome, Subject};
use crate::id::{ApiKeyId, MembershipId, OrganizationId};

pub use self::concerns::Concerns;
pub use crate::id::ReplicaId;

/// The number of a change, and the counter that gives them: the number of the newest one, 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeNumber(u64);

impl ChangeNumber {
    /// Takes a number back from storage.
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// The number as storage keeps it.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

/// The keys that a change concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Concern {
    /// A single key.
    ApiKey(ApiKeyId),
    /// All keys of this consumer.
    Consumer(MembershipId),
    /// All keys of this organization.
    Organization(OrganizationId),
    /// Every key of the installation.
    Everyone,
}

impl Concern {
    /// The keys whose rights or reach an event changes. Every change writes its event in its own transaction,
    /// so a store that handles each event misses no change.
    #[must_use]
    pub fn of_event(event: &AuditEvent) -> Option<Self> {
        let membership = || {
            let involved = [Some(event.subject), event.object];
            involved.into_iter().flatten().find_map(|subject| match subject {
                Subject::Membership(membership) => Some(Self::Consumer(membership)),
                _ => None,
            })
        };
        let concern = match event.action {
            // Planned ends are remembered with the key and the membership; a rotation plans one.
            Action::ChangeExpiry | Action::RotateApiKey | Action::RevokeApiKey | Action::ExpireApiKey => {
                match event.subject {
                    Subject::ApiKey(key) => Some(Self::ApiKey(key)),
                    _ => None,
                }
            }
            Action::MakeOwner
            | Action::MakeMember
            | Action::RemoveMember
            | Action::LeaveOrganization
            | Action::ChangeMembershipExpiry
            | Action::ExpireMembership
            | Action::AddProjectMember
            | Action::RemoveProjectMember => membership(),
            Action::ArchiveProject | Action::RestoreProject | Action::RenameProject => {
                event.organization_id.map(Self::Organization)
            }
            // No effect on what a key may do or reach, or on answers from memory.
            Action::CreateSetupLink
            | Action::CreateOrganization
            | Action::EnableKeyManagement
            | Action::DisableKeyManagement
            | Action::LimitKeyLife
            | Action::CreateUser
            | Action::CreateMembership
            | Action::CreateInvitation
            | Action::RevokeInvitation
            | Action::AcceptInvitation
            | Action::CreateProject
            | Action::ResetPassword
            | Action::ChangePassword
            | Action::SignIn
            | Action::LimitAttempts
            | Action::SignOut
            | Action::EndSession
            | Action::CreateApiKey
            | Action::CreateRestrictedApiKey
            | Action::EditApiKey
            | Action::UseApiKey
            | Action::RemoveAuditEvents
            | Action::ExportAuditLog => return None,
            Action::Other(_) => None,
        };
        // An event without the expected subject concerns everyone.
        (event.outcome == Outcome::Success).then(|| concern.unwrap_or(Self::Everyone))
    }
}

/// The result of one poll, all of it as of one time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PolledChanges {
    /// The number of the newest change.
    pub counter: ChangeNumber,
    /// The number that the replica acknowledged last; `None` if the store does not know the replica.
    pub acknowledged: Option<ChangeNumber>,
    /// The changes after the number that was asked for, as far as the log still holds them, in order.
    pub changes: Vec<(ChangeNumber, Concern)>,
}

impl PolledChanges {
    /// The keys that the changes after this number concern; `None` if the log does not contain all of them.
    #[must_use]
    pub fn changes_after(&self, number: ChangeNumber) -> Option<Vec<Concern>> {
        let expected = self.counter.0.checked_sub(number.0)?;
        let changes: Vec<Concern> = self
            .changes
            .iter()
            .filter(|(changed, _)| *changed > number && *changed <= self.counter)
            .map(|(_, concern)| *concern)
            .collect();
        (u64::try_from(changes.len()) == Ok(expected)).then_some(changes)
    }
}

/// One replica, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegisteredReplica {
    /// Its identifier, new at each start.
    pub id: ReplicaId,
    /// The name by which people recognize it.
    pub name: String,
    /// Up to which number it has seen the changes.
    pub acknowledged: ChangeNumber,
}

/// The replicas, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegisteredReplicas {
    /// The number of the newest change.
    pub counter: ChangeNumber,
    /// All registered replicas.
    pub replicas: Vec<RegisteredReplica>,
}

/// The minimum number of changes that the store keeps in its log. A replica that has missed older ones
/// empties its cache.
pub const LOGGED_CHANGES: NonZeroU64 = NonZeroU64::new(1_000).unwrap();

#[cfg(test)]
mod tests {
    use super::{ChangeNumber, Concern, PolledChanges};

    #[test]
    fn log_with_a_gap_does_not_list_the_changes() {
        let polled = |numbers: &[u64]| PolledChanges {
            counter: ChangeNumber(5),
            acknowledged: None,
            changes: numbers
                .iter()
                .map(|number| (ChangeNumber(*number), Concern::Everyone))
                .collect(),
        };
        let after =
            |polled: PolledChanges, number| polled.changes_after(ChangeNumber(number)).map(|all| all.len());
        assert_eq!(after(polled(&[3, 4, 5]), 2), Some(3));
        assert_eq!(after(polled(&[3, 4, 5]), 3), Some(2));
        assert_eq!(after(polled(&[3, 4, 5]), 5), Some(0));
        assert_eq!(after(polled(&[3, 5]), 2), None);
        assert_eq!(after(polled(&[4, 5]), 2), None);
        assert_eq!(after(polled(&[]), 6), None);
    }
}
