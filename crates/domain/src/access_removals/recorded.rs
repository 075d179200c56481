//! The change of access that one audit event records.

use std::str::FromStr;

use super::removal::{AccessRemoval, ManualRemoval};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::{ApiKeyId, MembershipId, OrganizationId, UserId};

/// The access that an event gives or removes. The latest change of each decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ChangedThing {
    Access(AccessRemoval),
    Password(UserId),
    Sessions(UserId),
    KeyEnd(ApiKeyId),
    Rotation(ApiKeyId),
    MembershipEnd(MembershipId),
    KeyManagement(OrganizationId),
    KeyLife(OrganizationId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Removal {
    Access(AccessRemoval),
    Manual(ManualRemoval),
}

/// An event whose action, subject or value this version does not know.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewerEvent;

/// The changed access, and its removal, or `None` if it was given or restored. Other events have no change.
pub(super) fn change_of(event: &AuditEvent) -> Result<Option<(ChangedThing, Option<Removal>)>, NewerEvent> {
    macro_rules! subject {
        ($kind:ident) => {
            match event.subject {
                Subject::$kind(id) => id,
                _ => return Err(NewerEvent),
            }
        };
    }
    let removed = |removal| (ChangedThing::Access(removal), Some(Removal::Access(removal)));
    let given = |removal| (ChangedThing::Access(removal), None);
    let manual = |thing, removal| (thing, Some(Removal::Manual(removal)));
    Ok(Some(match event.action {
        Action::RevokeApiKey | Action::ExpireApiKey => removed(AccessRemoval::ApiKey(subject!(ApiKey))),
        Action::RemoveMember | Action::LeaveOrganization | Action::ExpireMembership => {
            removed(AccessRemoval::Membership(subject!(Membership)))
        }
        Action::MakeMember => removed(AccessRemoval::OwnerRole(subject!(Membership))),
        Action::MakeOwner => given(AccessRemoval::OwnerRole(subject!(Membership))),
        Action::RevokeInvitation | Action::AcceptInvitation => {
            removed(AccessRemoval::Invitation(subject!(Invitation)))
        }
        Action::ArchiveProject => removed(AccessRemoval::Project(subject!(Project))),
        Action::RestoreProject => given(AccessRemoval::Project(subject!(Project))),
        Action::RemoveProjectMember => removed(project_member(event)?),
        Action::AddProjectMember => given(project_member(event)?),
        Action::ChangePassword | Action::ResetPassword => {
            let user = subject!(User);
            manual(ChangedThing::Password(user), ManualRemoval::Password(user))
        }
        Action::SignOut | Action::EndSession => {
            let user = user_of_session(event)?;
            manual(ChangedThing::Sessions(user), ManualRemoval::Sessions(user))
        }
        Action::ChangeExpiry => {
            let key = subject!(ApiKey);
            let planned = new_value(event)?.map(|at| Removal::Manual(ManualRemoval::KeyEnd(key, at)));
            (ChangedThing::KeyEnd(key), planned)
        }
        Action::RotateApiKey => {
            let key = subject!(ApiKey);
            let Some(Subject::ApiKey(successor)) = event.object else {
                return Err(NewerEvent);
            };
            manual(
                ChangedThing::Rotation(key),
                ManualRemoval::Rotation { key, successor },
            )
        }
        Action::ChangeMembershipExpiry => {
            let member = subject!(Membership);
            let end_at = |at| Removal::Manual(ManualRemoval::MembershipEnd(member, at));
            (ChangedThing::MembershipEnd(member), new_value(event)?.map(end_at))
        }
        Action::DisableKeyManagement => {
            let organization = subject!(Organization);
            let off = ManualRemoval::KeyManagementOff(organization);
            manual(ChangedThing::KeyManagement(organization), off)
        }
        Action::EnableKeyManagement => (ChangedThing::KeyManagement(subject!(Organization)), None),
        Action::LimitKeyLife => {
            let organization = subject!(Organization);
            let limit_to = |longest| Removal::Manual(ManualRemoval::KeyLife(organization, longest));
            (
                ChangedThing::KeyLife(organization),
                new_value(event)?.map(limit_to),
            )
        }
        Action::Other(_) => return Err(NewerEvent),
        // A setup link works only before there is anything to restore. All others give access, or have
        // nothing to do with it.
        Action::CreateSetupLink
        | Action::RemoveAuditEvents
        | Action::ExportAuditLog
        | Action::UseApiKey
        | Action::CreateOrganization
        | Action::CreateUser
        | Action::CreateMembership
        | Action::CreateInvitation
        | Action::CreateProject
        | Action::RenameProject
        | Action::SignIn
        | Action::LimitAttempts
        | Action::CreateApiKey
        | Action::CreateRestrictedApiKey
        | Action::EditApiKey => return Ok(None),
    }))
}

const fn project_member(event: &AuditEvent) -> Result<AccessRemoval, NewerEvent> {
    match (event.subject, event.object) {
        (Subject::Membership(member), Some(Subject::Project(project))) => {
            Ok(AccessRemoval::ProjectMember(project, member))
        }
        _ => Err(NewerEvent),
    }
}

/// The user whose session ended: the event's other party, if another user signed in with the same browser,
/// else its actor.
const fn user_of_session(event: &AuditEvent) -> Result<UserId, NewerEvent> {
    match (event.object, event.actor) {
        (Some(Subject::User(user)), _) | (None, Actor::User(user)) => Ok(user),
        _ => Err(NewerEvent),
    }
}

fn new_value<T: FromStr>(event: &AuditEvent) -> Result<Option<T>, NewerEvent> {
    let read = event.new_value.as_deref().map(str::parse).transpose();
    read.map_err(|_| NewerEvent)
}

impl Removal {
    /// The removal that includes this one.
    pub(super) const fn part_of(self) -> Option<Self> {
        match self {
            Self::Access(AccessRemoval::OwnerRole(member) | AccessRemoval::ProjectMember(_, member))
            | Self::Manual(ManualRemoval::MembershipEnd(member, _)) => {
                Some(Self::Access(AccessRemoval::Membership(member)))
            }
            Self::Manual(ManualRemoval::KeyEnd(key, _) | ManualRemoval::Rotation { key, .. }) => {
                Some(Self::Access(AccessRemoval::ApiKey(key)))
            }
            Self::Manual(ManualRemoval::Sessions(user)) => Some(Self::Manual(ManualRemoval::Password(user))),
            Self::Access(
                AccessRemoval::ApiKey(_)
                | AccessRemoval::Membership(_)
                | AccessRemoval::Invitation(_)
                | AccessRemoval::Project(_),
            )
            | Self::Manual(
                ManualRemoval::Password(_) | ManualRemoval::KeyManagementOff(_) | ManualRemoval::KeyLife(..),
            ) => None,
        }
    }
}
