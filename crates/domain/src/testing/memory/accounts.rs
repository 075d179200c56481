use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::AuditEvent;
use crate::id::UserId;
use crate::organization::{Organization, Slug};
use crate::ports::StorageError;
use crate::sign_in::accounts::Account;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::ports::{
    AccountStore, ChangeOwnPasswordError, CreateAccountError, NewAccount, NewOrganization, PasswordChange,
    ResetPasswordError,
};
use crate::user::Username;

#[async_trait]
impl AccountStore for MemoryStore {
    async fn find(&self, username: &Username) -> Result<Option<Account>, StorageError> {
        Ok(self
            .state()?
            .accounts
            .iter()
            .find(|account| account.user.username == *username)
            .cloned())
    }

    async fn find_organization(&self, slug: &Slug) -> Result<Option<Organization>, StorageError> {
        let state = self.state()?;
        let mut organizations = state.organizations.iter();
        Ok(organizations
            .find(|organization| organization.slug == *slug)
            .cloned())
    }

    async fn organizations(&self) -> Result<Vec<Organization>, StorageError> {
        let mut organizations = self.state()?.organizations.clone();
        organizations.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()).then(a.id.cmp(&b.id)));
        Ok(organizations)
    }

    async fn add_organization(
        &self,
        new: NewOrganization,
        events: Vec<AuditEvent>,
    ) -> Result<Slug, StorageError> {
        let mut state = self.state()?;
        let NewOrganization { organization, owner } = new;
        let is_free = |slug: &Slug| state.organizations.iter().all(|other| other.slug != *slug);
        let slug = organization.slug.candidates().find(is_free);
        let slug = slug.ok_or_else(|| StorageError::Defect("every slug is taken".into()))?;
        state.write(events)?;
        state.organizations.push(Organization {
            slug: slug.clone(),
            ..organization
        });
        state.memberships.push(owner);
        Ok(slug)
    }

    async fn add(&self, new: NewAccount, events: Vec<AuditEvent>) -> Result<(), CreateAccountError> {
        let mut state = self.state()?;
        if state
            .accounts
            .iter()
            .any(|account| account.user.username == new.account.user.username)
        {
            return Err(CreateAccountError::UsernameTaken);
        }
        state.write(events)?;
        state.accounts.push(new.account);
        state.memberships.push(new.membership);
        Ok(())
    }

    async fn replace_password(
        &self,
        user: UserId,
        password_hash: PasswordHash,
        event: AuditEvent,
    ) -> Result<(), ResetPasswordError> {
        let mut state = self.state()?;
        state.user(user).ok_or(ResetPasswordError::UserUnknown)?;
        state.write(vec![event])?;
        for account in state
            .accounts
            .iter_mut()
            .filter(|account| account.user.id == user)
        {
            account.password_hash = password_hash.clone();
        }
        state.sessions.retain(|stored| stored.session.user_id != user);
        Ok(())
    }

    async fn change_password(
        &self,
        user: UserId,
        change: PasswordChange,
        event: AuditEvent,
    ) -> Result<(), ChangeOwnPasswordError> {
        let mut state = self.state()?;
        let is_current =
            |account: &Account| account.user.id == user && account.password_hash == change.verified_against;
        if !state.accounts.iter().any(is_current) {
            return Err(ChangeOwnPasswordError::WrongPassword);
        }
        state.write(vec![event])?;
        for account in state
            .accounts
            .iter_mut()
            .filter(|account| account.user.id == user)
        {
            account.password_hash = change.password_hash.clone();
        }
        state
            .sessions
            .retain(|stored| stored.session.user_id != user || stored.session.id == change.keep.id);
        for stored in &mut state.sessions {
            if stored.session.user_id == user {
                stored.digest = change.keep.digest;
            }
        }
        Ok(())
    }
}
