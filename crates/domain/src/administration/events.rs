//! Audit events that a store completes, because only it knows what a change replaces and what else it ends.

use chrono::{DateTime, Utc};

use crate::api_key::LongestLife;
use crate::audit::{Act, Action, Actor, AuditEvent, Subject};
use crate::id::{InvitationId, MembershipId, OrganizationId, ProjectId, UserId};
use crate::membership::Role;
use crate::project::ProjectChange;
use crate::validity::End;

impl Act {
    /// The event for a member's new role.
    #[must_use]
    pub fn new_role(&self, id: MembershipId, role: Role) -> AuditEvent {
        let action = match role {
            Role::Owner => Action::MakeOwner,
            Role::Member => Action::MakeMember,
        };
        self.event(action, Subject::Membership(id))
    }

    /// The event for an organization's default right of new keys.
    #[must_use]
    pub fn choice_for_new_keys(&self, id: OrganizationId, manage_keys: bool) -> AuditEvent {
        let action = if manage_keys {
            Action::EnableKeyManagement
        } else {
            Action::DisableKeyManagement
        };
        self.event(action, Subject::Organization(id))
    }

    /// The event for a new longest life of new keys.
    #[must_use]
    pub fn limit_of_key_life(
        &self,
        id: OrganizationId,
        before: Option<LongestLife>,
        after: Option<LongestLife>,
    ) -> AuditEvent {
        let text = |life: LongestLife| life.to_string();
        AuditEvent {
            old_value: before.map(text),
            new_value: after.map(text),
            ..self.event(Action::LimitKeyLife, Subject::Organization(id))
        }
    }

    /// The event for the end of a membership: the member left, or another actor removed them.
    #[must_use]
    pub fn end_of_membership(&self, id: MembershipId, member: UserId) -> AuditEvent {
        let action = if self.actor == Actor::User(member) {
            Action::LeaveOrganization
        } else {
            Action::RemoveMember
        };
        self.event(action, Subject::Membership(id))
    }

    /// The event for a planned end of a membership that was set, moved or removed.
    #[must_use]
    pub fn change_of_membership_expiry(
        &self,
        id: MembershipId,
        before: Option<DateTime<Utc>>,
        after: Option<DateTime<Utc>>,
    ) -> AuditEvent {
        let membership = Subject::Membership(id);
        self.event_of_moment(Action::ChangeMembershipExpiry, membership, before, after)
    }

    /// The event for a planned end of a membership that has come. Its actor is the system.
    #[must_use]
    pub fn planned_end_of_membership(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        planned: Option<End>,
    ) -> AuditEvent {
        let (membership, planned) = (Subject::Membership(id), planned.map(End::at));
        let act = self.of_system(organization);
        act.event_of_moment(Action::ExpireMembership, membership, planned, None)
    }

    /// The event for a new project.
    #[must_use]
    pub fn creation_of_project(&self, id: ProjectId) -> AuditEvent {
        self.event(Action::CreateProject, Subject::Project(id))
    }

    /// The event for a project that was changed.
    #[must_use]
    pub fn change_of_project(&self, id: ProjectId, change: &ProjectChange) -> AuditEvent {
        self.event(change.action(), Subject::Project(id))
    }

    /// The event for a member who was added to a project.
    #[must_use]
    pub fn addition_to_project(&self, id: ProjectId, member: MembershipId) -> AuditEvent {
        let (subject, object) = (Subject::Membership(member), Subject::Project(id));
        self.event_with(Action::AddProjectMember, subject, object)
    }

    /// The event for a member who was taken out of a project.
    #[must_use]
    pub fn removal_from_project(&self, id: ProjectId, member: MembershipId) -> AuditEvent {
        let (subject, object) = (Subject::Membership(member), Subject::Project(id));
        self.event_with(Action::RemoveProjectMember, subject, object)
    }

    /// The event for a new invitation.
    #[must_use]
    pub fn creation_of_invitation(&self, id: InvitationId) -> AuditEvent {
        self.event(Action::CreateInvitation, Subject::Invitation(id))
    }

    /// The event for an invitation that was revoked alone, or because its inviter stopped being an owner.
    #[must_use]
    pub fn invitation_revoked(&self, id: InvitationId) -> AuditEvent {
        self.event(Action::RevokeInvitation, Subject::Invitation(id))
    }
}
