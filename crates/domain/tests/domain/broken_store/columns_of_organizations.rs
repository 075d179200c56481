//! Columns that are not read as they were written: of an organization, its people, and what they have.

use keyward_domain::audit::Actor;
use keyward_domain::invitation::{Invitation, Invitee};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::organization::{Organization, OrganizationName};
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::sign_in::session::Session;
use keyward_domain::user::{DisplayName, User};

use super::columns::{whole_end, whole_seconds};
use super::{BrokenStore, Column};

impl BrokenStore {
    pub(super) fn organization_as_read(&self, organization: Organization) -> Organization {
        let mut organization = organization;
        match self.misread() {
            Some(Column::OrganizationName) => {
                organization.name = OrganizationName::parse("any").expect("a name");
            }
            Some(Column::OrganizationCreatedAt) => {
                organization.created_at = whole_seconds(organization.created_at);
            }
            Some(Column::OrganizationNewKeys) => organization.new_keys_manage_keys = true,
            Some(Column::OrganizationKeyLife) => organization.longest_key_life = None,
            _ => {}
        }
        organization
    }

    pub(super) fn user_as_read(&self, user: User) -> User {
        let mut user = user;
        match self.misread() {
            Some(Column::UserDisplayName) => {
                user.display_name = DisplayName::parse(user.username.as_str()).expect("a name");
            }
            Some(Column::UserCreatedAt) => user.created_at = whole_seconds(user.created_at),
            _ => {}
        }
        user
    }

    pub(super) fn membership_as_read(&self, membership: Membership) -> Membership {
        let mut membership = membership;
        match self.misread() {
            Some(Column::MembershipRole) => membership.role = Role::Member,
            Some(Column::MembershipJoinedAt) => membership.joined_at = whole_seconds(membership.joined_at),
            Some(Column::MembershipEndedAt) => membership.end = membership.end.map(whole_end),
            _ => {}
        }
        membership
    }

    pub(super) fn project_as_read(&self, project: Project) -> Project {
        let mut project = project;
        match self.misread() {
            Some(Column::ProjectName) => project.name = ProjectName::parse("any").expect("a name"),
            Some(Column::ProjectCreatedAt) => project.created_at = whole_seconds(project.created_at),
            Some(Column::ProjectArchivedAt) => project.archived_at = project.archived_at.map(whole_seconds),
            _ => {}
        }
        project
    }

    pub(super) fn invitation_as_read(&self, invitation: Invitation) -> Invitation {
        let mut invitation = invitation;
        match self.misread() {
            Some(Column::InvitationInvitee) => {
                invitation.invitee = Invitee::parse("any").expect("an invitee");
            }
            Some(Column::InvitationRole) => invitation.role = Role::Member,
            Some(Column::InvitationInvitedBy) => invitation.invited_by = Actor::Administrator,
            Some(Column::InvitationCreatedAt) => invitation.created_at = whole_seconds(invitation.created_at),
            Some(Column::InvitationExpiresAt) => invitation.expires_at = whole_seconds(invitation.expires_at),
            _ => {}
        }
        invitation
    }

    pub(super) fn session_as_read(&self, session: Session) -> Session {
        let mut session = session;
        match self.misread() {
            Some(Column::SessionStartedAt) => session.started_at = whole_seconds(session.started_at),
            Some(Column::SessionLastSeenAt) => session.last_seen_at = whole_seconds(session.last_seen_at),
            Some(Column::SessionStartedFrom) => session.started_from = None,
            Some(Column::SessionUserAgent) => session.user_agent = None,
            _ => {}
        }
        session
    }
}
