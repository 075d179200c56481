use std::collections::HashMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::{MemoryStore, State};
use crate::administration::ports::{Named, Names};
use crate::audit::Subject;
use crate::id::{ApiKeyId, InvitationId, MembershipId, OrganizationId, ProjectId, UserId};
use crate::ports::StorageError;
use crate::token::TokenHint;
use crate::user::{User, Username};

#[async_trait]
impl Names for MemoryStore {
    async fn identify(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, Named>, StorageError> {
        let state = self.state()?;
        let named = |subject: &Subject| {
            let name = state.name_of(organization, *subject)?;
            let username = state.username_of(organization, *subject);
            let hint = state.hint_of(*subject);
            Some((*subject, Named { name, username, hint }))
        };
        Ok(subjects.iter().filter_map(named).collect())
    }

    async fn find_subject(
        &self,
        organization: OrganizationId,
        id: Uuid,
    ) -> Result<Option<Subject>, StorageError> {
        let state = self.state()?;
        let possible = [
            Subject::ApiKey(ApiKeyId::from_uuid(id)),
            Subject::Membership(MembershipId::from_uuid(id)),
            Subject::User(UserId::from_uuid(id)),
            Subject::Project(ProjectId::from_uuid(id)),
            Subject::Invitation(InvitationId::from_uuid(id)),
            Subject::Organization(OrganizationId::from_uuid(id)),
        ];
        let is_here = |subject: &Subject| {
            state.name_of(organization, *subject).is_some()
                || state.events.iter().any(|event| {
                    let subjects_of = [event.actor.as_subject(), Some(event.subject), event.object];
                    event.organization_id == Some(organization) && subjects_of.contains(&Some(*subject))
                })
        };
        Ok(possible.into_iter().find(is_here))
    }

    async fn find_user(
        &self,
        organization: OrganizationId,
        username: &Username,
    ) -> Result<Option<UserId>, StorageError> {
        let state = self.state()?;
        let user = state.accounts.iter().map(|account| account.user.id).find(|id| {
            state.was_ever_member(organization, *id)
                && state.user(*id).is_some_and(|user| user.username == *username)
        });
        Ok(user)
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StorageError> {
        let state = self.state()?;
        let accounts = state.accounts.iter().map(|account| &account.user);
        Ok(accounts.filter(|user| ids.contains(&user.id)).cloned().collect())
    }
}

impl State {
    fn name_of(&self, organization: OrganizationId, subject: Subject) -> Option<String> {
        match subject {
            Subject::Organization(id) => {
                let own = self.organization(id).filter(|found| found.id == organization)?;
                Some(own.name.to_string())
            }
            Subject::User(id) => {
                let is_known = self.was_ever_member(organization, id);
                is_known.then(|| self.user(id).map(|user| user.display_name.to_string()))?
            }
            Subject::Membership(id) => {
                let user = self.user_of_membership(organization, id)?;
                self.user(user).map(|user| user.display_name.to_string())
            }
            Subject::ApiKey(id) => {
                let key = &self.keys.iter().find(|stored| stored.key.id == id)?.key;
                self.user_of_membership(organization, key.consumer_id)?;
                Some(key.name.to_string())
            }
            Subject::Project(id) => {
                let mut own = self
                    .projects
                    .iter()
                    .filter(|project| project.organization_id == organization);
                own.find(|project| project.id == id)
                    .map(|project| project.name.to_string())
            }
            Subject::Invitation(id) => {
                let mut own = self
                    .invitations
                    .iter()
                    .map(|stored| &stored.invitation)
                    .filter(|invitation| invitation.organization_id == organization);
                own.find(|invitation| invitation.id == id)
                    .map(|invitation| invitation.invitee.to_string())
            }
            Subject::Session(_) | Subject::Other { .. } | Subject::Installation => None,
        }
    }

    fn hint_of(&self, subject: Subject) -> Option<TokenHint> {
        let mut keys = self.keys.iter().map(|stored| &stored.key);
        let key = keys.find(|key| Subject::ApiKey(key.id) == subject)?;
        Some(key.hint.clone())
    }

    fn username_of(&self, organization: OrganizationId, subject: Subject) -> Option<Username> {
        let user = match subject {
            Subject::User(id) => self.was_ever_member(organization, id).then_some(id),
            Subject::Membership(id) => self.user_of_membership(organization, id),
            Subject::Organization(_)
            | Subject::ApiKey(_)
            | Subject::Project(_)
            | Subject::Invitation(_)
            | Subject::Session(_)
            | Subject::Other { .. }
            | Subject::Installation => None,
        };
        self.user(user?).map(|user| user.username.clone())
    }

    fn was_ever_member(&self, organization: OrganizationId, user: UserId) -> bool {
        self.memberships
            .iter()
            .any(|membership| membership.organization_id == organization && membership.user_id == user)
    }

    fn user_of_membership(&self, organization: OrganizationId, id: MembershipId) -> Option<UserId> {
        self.membership(id)
            .filter(|membership| membership.organization_id == organization)
            .map(|membership| membership.user_id)
    }
}
