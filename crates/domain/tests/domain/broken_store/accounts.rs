use async_trait::async_trait;
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::UserId;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::sign_in::ports::{
    AccountStore, ChangeOwnPasswordError, CreateAccountError, NewAccount, NewOrganization, PasswordChange,
    ResetPasswordError,
};
use keyward_domain::user::Username;

use super::{BrokenStore, Fault, Secret, lock};

#[async_trait]
impl AccountStore for BrokenStore {
    async fn find(&self, username: &Username) -> Result<Option<Account>, StorageError> {
        let found = AccountStore::find(&self.sound, username).await?;
        Ok(found.map(|account| Account {
            user: self.user_as_read(account.user),
            ..account
        }))
    }

    async fn find_organization(&self, slug: &Slug) -> Result<Option<Organization>, StorageError> {
        let found = self.sound.find_organization(slug).await?;
        Ok(found.map(|organization| self.organization_as_read(organization)))
    }

    async fn organizations(&self) -> Result<Vec<Organization>, StorageError> {
        let organizations = self.sound.organizations().await?;
        Ok(organizations
            .into_iter()
            .map(|organization| self.organization_as_read(organization))
            .collect())
    }

    async fn add_organization(
        &self,
        new: NewOrganization,
        events: Vec<AuditEvent>,
    ) -> Result<Slug, StorageError> {
        self.sound.add_organization(new, events).await
    }

    async fn add(&self, new: NewAccount, events: Vec<AuditEvent>) -> Result<(), CreateAccountError> {
        AccountStore::add(&self.sound, new, events).await
    }

    async fn replace_password(
        &self,
        user: UserId,
        password_hash: PasswordHash,
        event: AuditEvent,
    ) -> Result<(), ResetPasswordError> {
        self.sound.replace_password(user, password_hash, event).await
    }

    async fn change_password(
        &self,
        user: UserId,
        mut change: PasswordChange,
        event: AuditEvent,
    ) -> Result<(), ChangeOwnPasswordError> {
        let old_token = lock(&self.sessions).get(&change.keep.id).copied();
        if let (Fault::KeepsSessionTokenOfPasswordChange, Some(old_token)) = (self.fault, old_token) {
            change.keep.digest = old_token;
        }
        self.keep_digest(Secret::Session, change.keep.digest.as_bytes());
        self.sound.change_password(user, change, event).await
    }
}
