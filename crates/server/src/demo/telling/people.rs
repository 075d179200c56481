//! Who belongs, and what holds for all.

use keyward_domain::administration::InvitationDraft;
use keyward_domain::invitation::{InvitationToken, Invitee};
use keyward_domain::membership::Role;
use keyward_domain::ports::AuditFilter;
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::password::Password;
use keyward_domain::user::{DisplayName, Username};

use super::Telling;
use crate::demo::fill_error::FillError;
use crate::demo::happening::Person;

impl Telling<'_> {
    pub(super) async fn admit(&mut self, person: &'static Person) -> Result<(), FillError> {
        let invited = self.invite(person.display_name).await?;
        let choices = NewcomerChoices {
            username: Username::parse(person.username)?,
            display_name: DisplayName::parse(person.display_name)?,
            password: Password::attempt(self.password.expose()),
        };
        let source = self.source(person.username);
        let joining = self.past.use_cases.joining();
        joining.join_as_newcomer(&invited, choices, source).await?;
        Ok(())
    }

    pub(super) async fn admit_user(&mut self, username: &'static str) -> Result<(), FillError> {
        let invited = self.invite(username).await?;
        let user = self.user(username).await?;
        let joining = self.past.use_cases.joining();
        joining
            .join_as_user(&invited, &user, self.source(username))
            .await?;
        Ok(())
    }

    /// The secret of a new invitation's link.
    pub(super) async fn invite(&mut self, invitee: &'static str) -> Result<InvitationToken, FillError> {
        let draft = InvitationDraft {
            invitee: Invitee::parse(invitee)?,
            role: Role::Member,
        };
        let authority = self.authority().await?;
        let invitations = self.past.use_cases.invitations();
        let issued = invitations
            .invite(&authority, draft, None, self.owners_source())
            .await?;
        self.invitations.insert(invitee, issued.invitation.id);
        Ok(issued.token)
    }

    pub(super) async fn take_back(&self, invitee: &str) -> Result<(), FillError> {
        let id = self.invitations.get(invitee).copied();
        let id = id.ok_or_else(|| FillError::Missing(invitee.to_owned()))?;
        let authority = self.authority().await?;
        let invitations = self.past.use_cases.invitations();
        invitations.revoke(&authority, id, self.owners_source()).await?;
        Ok(())
    }

    pub(super) async fn choose_for_new_keys(&self, manage_keys: bool) -> Result<(), FillError> {
        let authority = self.authority().await?;
        let organizations = self.past.use_cases.organizations();
        organizations
            .choose_for_new_keys(&authority, manage_keys, self.owners_source())
            .await?;
        Ok(())
    }

    pub(super) async fn leave(&self, username: &str) -> Result<(), FillError> {
        let member = self.member(username).await?;
        let members = self.past.use_cases.members();
        members.leave(&member, self.source(username)).await?;
        Ok(())
    }

    pub(super) async fn remove(&self, username: &str) -> Result<(), FillError> {
        let (authority, member) = (self.authority().await?, self.member(username).await?);
        let members = self.past.use_cases.members();
        members
            .remove(&authority, member.membership.id, self.owners_source())
            .await?;
        Ok(())
    }

    pub(super) async fn change_role(&self, username: &str, role: Role) -> Result<(), FillError> {
        let (authority, member) = (self.authority().await?, self.member(username).await?);
        let members = self.past.use_cases.members();
        members
            .change_role(&authority, member.membership.id, role, self.owners_source())
            .await?;
        Ok(())
    }

    pub(super) async fn export_audit_log(&self, owner: &str) -> Result<(), FillError> {
        let (trail, authority) = (self.past.use_cases.audit_trail(), self.authority_of(owner).await?);
        let mut export = trail.export(&authority, AuditFilter::default(), self.source(owner));
        export.next().await?;
        Ok(())
    }
}
