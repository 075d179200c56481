//! Account management on the command line.

use std::sync::Arc;

use crate::audit::{Act, Action, Actor, RequestSource, Subject};
use crate::membership::{Membership, Role};
use crate::organization::{Organization, OrganizationName, Slug};
use crate::ports::{Memberships, StorageError};
use crate::sign_in::newcomer::{Newcomer, NewcomerChoices};
use crate::sign_in::password::{HashingQueue, Password, PasswordHasher};
use crate::sign_in::ports::{AccountStore, NewAccount, NewOrganization};
use crate::sources::Sources;
use crate::user::{User, Username};

pub use crate::sign_in::account::Account;
pub use crate::sign_in::ports::{CreateAccountError, ResetPasswordError};

/// A new user, as an administrator describes them.
#[derive(Debug)]
pub struct AccountDraft {
    /// The organization they join.
    pub organization: Slug,
    /// The role of their first membership.
    pub role: Role,
    /// How the user signs in, and is called.
    pub user: NewcomerChoices,
}

/// Why no organization was created.
#[derive(Debug, thiserror::Error)]
pub enum CreateOrganizationError {
    /// There is no such user.
    #[error("there is no such user")]
    OwnerUnknown,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The use cases of accounts for the administrator of the installation. None of them creates a key.
#[derive(Clone)]
pub struct Accounts {
    accounts: Arc<dyn AccountStore>,
    memberships: Arc<dyn Memberships>,
    hasher: Arc<dyn PasswordHasher>,
    sources: Sources,
}

impl Accounts {
    /// The use cases over these ports.
    #[must_use]
    pub fn new(
        accounts: Arc<dyn AccountStore>,
        memberships: Arc<dyn Memberships>,
        hasher: Arc<dyn PasswordHasher>,
        sources: Sources,
    ) -> Self {
        Self {
            accounts,
            memberships,
            hasher,
            sources,
        }
    }

    /// Finds an organization by its slug; `None` if none has it.
    pub async fn find_organization(&self, slug: &Slug) -> Result<Option<Organization>, StorageError> {
        self.accounts.find_organization(slug).await
    }

    /// All organizations of the installation, by name.
    pub async fn organizations(&self) -> Result<Vec<Organization>, StorageError> {
        self.accounts.organizations().await
    }

    /// Finds a user of the whole installation, not of one organization; `None` if no user has the username.
    pub async fn find_user(&self, username: &Username) -> Result<Option<User>, StorageError> {
        let account = self.accounts.find(username).await?;
        Ok(account.map(|account| account.user))
    }

    /// The organizations that a user belongs to now.
    pub async fn organizations_of(&self, user: &User) -> Result<Vec<Organization>, StorageError> {
        self.memberships
            .organizations_of(user.id, self.sources.now())
            .await
    }

    /// Creates a further organization, whose first owner is a user that exists. Its slug is made from its
    /// name, with a number after it if another organization has that one.
    ///
    /// # Errors
    /// See [`CreateOrganizationError`]; then nothing was created.
    pub async fn create_organization(
        &self,
        name: OrganizationName,
        owner: &Username,
    ) -> Result<Organization, CreateOrganizationError> {
        let owner = self
            .accounts
            .find(owner)
            .await?
            .ok_or(CreateOrganizationError::OwnerUnknown)?;
        let act = self.act();
        let organization = Organization::new(self.sources.next_id(), name, act.at);
        let act = act.within(organization.id);
        let (id, user) = (self.sources.next_id(), owner.user.id);
        let owner = Membership::begin(id, organization.id, user, Role::Owner, act.at);
        let events = vec![
            act.event(Action::CreateOrganization, Subject::Organization(organization.id)),
            act.event(Action::CreateMembership, Subject::Membership(owner.id)),
        ];
        let new = NewOrganization {
            organization: organization.clone(),
            owner,
        };
        let slug = self.accounts.add_organization(new, events).await?;
        Ok(Organization { slug, ..organization })
    }

    /// Creates a user who is a member of an organization from the start.
    ///
    /// # Errors
    /// See [`CreateAccountError`]; then nothing was created.
    pub async fn create(&self, draft: AccountDraft) -> Result<User, CreateAccountError> {
        let organization = self.accounts.find_organization(&draft.organization).await?;
        let organization = organization.ok_or(CreateAccountError::OrganizationUnknown)?;
        let password_hash = self
            .hasher
            .hash(&draft.user.password, HashingQueue::OF_INSTALLATION)
            .await?;
        let act = self.act().within(organization.id);
        let newcomer = Newcomer::new(&self.sources, act.at, draft.user, organization.id, draft.role);
        let events = newcomer.events(&act).to_vec();
        let Newcomer { user, membership } = newcomer;
        let account = Account {
            user: user.clone(),
            password_hash,
        };
        self.accounts
            .add(NewAccount { account, membership }, events)
            .await?;
        Ok(user)
    }

    /// Replaces a user's password and ends all their sessions. Their keys stay valid.
    ///
    /// # Errors
    /// See [`ResetPasswordError`]; then nothing was changed.
    pub async fn reset_password(
        &self,
        username: &Username,
        password: &Password,
    ) -> Result<(), ResetPasswordError> {
        let account = self
            .accounts
            .find(username)
            .await?
            .ok_or(ResetPasswordError::UserUnknown)?;
        let password_hash = self.hasher.hash(password, HashingQueue::OF_INSTALLATION).await?;
        let user_id = account.user.id;
        let event = self.act().event(Action::ResetPassword, Subject::User(user_id));
        self.accounts
            .replace_password(user_id, password_hash, event)
            .await
    }

    fn act(&self) -> Act {
        let source = RequestSource::default();
        self.sources.act(Actor::Administrator, source)
    }
}
