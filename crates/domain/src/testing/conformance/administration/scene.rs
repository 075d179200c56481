//! The scene of cases in which an organization is run.

use std::fmt::Debug;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::Scene;
use crate::administration::ports::{
    AddInvitationError, ChangeMembershipExpiryError, ChangeProjectError, ChangeProjectMembersError,
    ChangeRoleError, EndMembershipError, MemberFilter, MemberOverview, NewInvitation, ProjectOverview,
};
use crate::api_key::ExpiryChange;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::{MembershipId, OrganizationId, ProjectId};
use crate::invitation::{Invitation, InvitationToken, Invitee};
use crate::membership::{Member, Membership, Role};
use crate::organization::Organization;
use crate::page::PageSize;
use crate::project::{NewProject, Project, ProjectChange, ProjectName};
use crate::sign_in::accounts::Account;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError, NewAccount, PendingInvitation};
use crate::user::{DisplayName, User};

/// Enough concurrent calls to hit every gap between a check and its change.
pub(super) const CROWD: usize = 64;

/// As no form creates it.
impl From<Project> for NewProject {
    fn from(project: Project) -> Self {
        Self {
            project,
            idempotency_key: None,
        }
    }
}

impl Scene<Stores> {
    /// Actors who may not run the organization, each with a name.
    pub(super) async fn outsiders(&self, organization: &Organization) -> Vec<(&'static str, Actor)> {
        let owner = self.join_as(organization, "crown", Role::Owner).await;
        let key = self.add_key(&owner, "a key of an owner").await;
        let member = self.join(organization, "plain").await;
        let former = self.join_as(organization, "former", Role::Owner).await;
        self.end_membership(&former).await;
        let elsewhere = self.add_organization("Elsewhere").await;
        let stranger = self.join_as(&elsewhere, "stranger", Role::Owner).await;
        vec![
            ("a plain member", Actor::User(member.user.id)),
            ("a former owner", Actor::User(former.user.id)),
            ("an owner of another organization", Actor::User(stranger.user.id)),
            ("a user that does not exist", Actor::User(self.id())),
            ("a key of an owner", Actor::ApiKey(key.id)),
            ("an anonymous client", Actor::Anonymous),
        ]
    }

    /// Adds a user with a display name of their own as member of an organization.
    pub(super) async fn join_named(
        &self,
        organization: &Organization,
        username: &str,
        display_name: &str,
    ) -> Member {
        let user = User {
            display_name: DisplayName::parse(display_name).expect("a display name"),
            ..self.make.user(username)
        };
        let membership = self.make.membership(organization, &user, Role::Member);
        let new = NewAccount {
            account: Account {
                user: user.clone(),
                password_hash: PasswordHash::from_phc_string("$no-password".to_owned()),
            },
            membership: membership.clone(),
        };
        let act = self.act_as(Actor::Administrator, Some(organization.id));
        let event = act.event(Action::CreateUser, Subject::User(user.id));
        self.stores
            .accounts
            .add(new, vec![event])
            .await
            .expect("a new username is added");
        Member {
            user,
            organization: organization.clone(),
            membership,
        }
    }

    /// The live members of an organization that pass the filter, over all pages of that size.
    pub(in super::super) async fn listed(
        &self,
        organization: OrganizationId,
        search: Option<&str>,
        size: u16,
    ) -> Vec<MemberOverview> {
        let store = &self.stores.members;
        all_pages(size_of(size), |page| {
            store.list(organization, MemberFilter::new(search), page, self.now())
        })
        .await
    }

    /// The live members of the organization with their roles, by rising identifier of the membership.
    pub(in super::super) async fn roles(&self, organization: OrganizationId) -> Vec<(MembershipId, Role)> {
        let members = self.listed(organization, None, PageSize::MAX).await;
        let members = members.into_iter().rev();
        members
            .map(|member| (member.membership.id, member.membership.role))
            .collect()
    }

    pub(super) async fn change_role(
        &self,
        actor: Actor,
        member: &Member,
        role: Role,
    ) -> Result<(), ChangeRoleError> {
        let act = self.act_as(actor, Some(member.organization.id));
        self.stores
            .members
            .change_role(member.organization.id, member.membership.id, role, act)
            .await
    }

    /// Plans the end of a membership for a moment, or for none.
    pub(super) async fn change_member_expiry(
        &self,
        actor: Actor,
        member: &Member,
        change: ExpiryChange,
    ) -> Result<(), ChangeMembershipExpiryError> {
        let act = self.act_as(actor, Some(member.organization.id));
        let (organization, id) = (member.organization.id, member.membership.id);
        let members = &self.stores.members;
        members.change_expiry(organization, id, change, act).await
    }

    /// Ends a membership as this actor; as the member, who then leaves.
    pub(super) async fn end_as(&self, actor: Actor, member: &Member) -> Result<(), EndMembershipError> {
        let act = self.act_as(actor, Some(member.organization.id));
        self.stores
            .members
            .end(member.organization.id, member.membership.id, act)
            .await
    }

    /// A project that no store knows yet.
    pub(super) fn new_project(&self, organization: &Organization, name: &str) -> Project {
        Project {
            id: self.id(),
            organization_id: organization.id,
            name: ProjectName::parse(name).expect("a project name"),
            created_at: self.now(),
            archived_at: None,
        }
    }

    pub(super) async fn add_project(&self, organization: &Organization, name: &str) -> Project {
        let project = self.new_project(organization, name);
        let act = self.act_as(Actor::Administrator, Some(organization.id));
        let added = self.stores.projects.add(project.clone().into(), act).await;
        added.expect("an administrator adds a project");
        project
    }

    pub(super) async fn project(
        &self,
        organization: OrganizationId,
        id: ProjectId,
    ) -> Option<ProjectOverview> {
        let found = self.stores.projects.find(organization, id, self.now()).await;
        found.expect("the store answers")
    }

    /// Archives a project now.
    pub(super) async fn archive(&self, project: &Project) -> Result<(), ChangeProjectError> {
        let act = self.act_as(Actor::Administrator, Some(project.organization_id));
        let (projects, organization) = (&self.stores.projects, project.organization_id);
        projects
            .change(organization, project.id, ProjectChange::Archive, act)
            .await
    }

    /// Adds a member to a project.
    pub(super) async fn assign(
        &self,
        project: &Project,
        member: &Member,
    ) -> Result<(), ChangeProjectMembersError> {
        let act = self.act_as(Actor::Administrator, Some(project.organization_id));
        let membership = member.membership.id;
        let (projects, organization) = (&self.stores.projects, project.organization_id);
        projects
            .add_member(organization, project.id, membership, act)
            .await
    }

    /// The projects that a member's keys reach, over all pages of that size. They are as many as are counted.
    pub(super) async fn reached(&self, member: &Member, size: u16) -> Vec<Project> {
        let reachable = &self.stores.reachable_projects;
        let (consumer, now) = (member.membership.id, self.now());
        let reached = all_pages(size_of(size), |page| reachable.list(consumer, page, now)).await;
        let count = reachable.count(consumer, now).await.expect("a count");
        assert_eq!(count, reached.len() as u64);
        reached
    }

    /// An invitation that no store knows yet.
    pub(super) fn new_invitation(
        &self,
        organization: &Organization,
        inviter: Actor,
        role: Role,
    ) -> NewInvitation {
        NewInvitation {
            invitation: Invitation {
                id: self.id(),
                organization_id: organization.id,
                invitee: Invitee::parse("Bob, of the \"analysts\"").expect("an invitee"),
                role,
                invited_by: inviter,
                created_at: self.now(),
                expires_at: self.now() + Invitation::LIFETIME,
                end: None,
            },
            digest: InvitationToken::generate(&*self.make.random).digest(),
            idempotency_key: None,
        }
    }

    pub(in super::super) async fn invite(&self, owner: &Member, role: Role) -> NewInvitation {
        let invited = self.try_invite(owner, role).await;
        invited.expect("an owner invites")
    }

    /// A former owner tries to invite a person.
    pub(super) async fn try_invite(
        &self,
        owner: &Member,
        role: Role,
    ) -> Result<NewInvitation, AddInvitationError> {
        let new = self.new_invitation(&owner.organization, as_user(owner), role);
        let act = self.act(owner);
        let added = self.stores.invitations.add(new.clone(), act).await;
        added.map(|()| new)
    }

    /// The invitation behind a link.
    pub(in super::super) async fn open_invitation(&self, new: &NewInvitation) -> Option<PendingInvitation> {
        let found = self
            .stores
            .open_invitations
            .find(&new.digest, None, self.now())
            .await;
        found.expect("the store answers")
    }

    /// The invitation behind a link, for a user.
    pub(super) async fn open_invitation_for(
        &self,
        new: &NewInvitation,
        visitor: &Member,
    ) -> Option<PendingInvitation> {
        let visitor = Some(visitor.user.id);
        let found = self
            .stores
            .open_invitations
            .find(&new.digest, visitor, self.now())
            .await;
        found.expect("the store answers")
    }

    /// An account that no store knows yet.
    pub(super) fn account(&self, username: &str) -> Account {
        Account {
            user: self.make.user(username),
            password_hash: PasswordHash::from_phc_string("$no-password".to_owned()),
        }
    }

    /// A new user accepts an invitation.
    pub(in super::super) async fn accept_as_newcomer(
        &self,
        new: &NewInvitation,
        username: &str,
    ) -> Result<Membership, AcceptAsNewcomerError> {
        let (invitation, account) = (&new.invitation, self.account(username));
        let (here, joiner) = (invitation.organization_id, account.user.id);
        let membership = Membership::begin(self.id(), here, joiner, invitation.role, self.now());
        let events = self.joining(new, &membership);
        self.stores
            .open_invitations
            .accept_as_newcomer(invitation.id, account, membership.clone(), events)
            .await
            .map(|()| membership)
    }

    /// A user accepts an invitation now, with the role that it says.
    pub(super) async fn accept_as_user(
        &self,
        new: &NewInvitation,
        member: &Member,
        organization: &Organization,
    ) -> Result<Member, AcceptAsUserError> {
        let (invitation, user) = (&new.invitation, &member.user);
        let membership = self.make.membership(organization, user, invitation.role);
        let events = self.joining(new, &membership);
        let act = self.act_as(Actor::User(user.id), Some(organization.id));
        self.stores
            .open_invitations
            .accept_as_user(invitation.id, membership.clone(), events, act)
            .await
            .map(|()| Member {
                user: user.clone(),
                organization: organization.clone(),
                membership,
            })
    }

    /// The events of joining with an invitation.
    pub(super) fn joining(&self, new: &NewInvitation, membership: &Membership) -> Vec<AuditEvent> {
        let act = self.act_as(Actor::User(membership.user_id), Some(membership.organization_id));
        let member = Subject::Membership(membership.id);
        vec![
            act.event_with(
                Action::AcceptInvitation,
                Subject::Invitation(new.invitation.id),
                member,
            ),
            act.event(Action::CreateMembership, member),
        ]
    }
}

pub(super) const fn as_user(member: &Member) -> Actor {
    Actor::User(member.user.id)
}

pub(super) fn assert_closed_to_newcomer<T: Debug>(refused: &Result<T, AcceptAsNewcomerError>) {
    assert!(
        matches!(refused, Err(AcceptAsNewcomerError::NotOpen)),
        "{refused:?}"
    );
}

pub(super) fn assert_closed_to_user<T: Debug>(refused: &Result<T, AcceptAsUserError>) {
    assert!(matches!(refused, Err(AcceptAsUserError::NotOpen)), "{refused:?}");
}
