//! The first run: a one-time link, the first organization and its first owner.

use std::sync::Arc;

use crate::audit::{Act, Action, Actor, RequestSource, Subject};
use crate::membership::Role;
use crate::organization::{Organization, OrganizationName};
use crate::ports::StorageError;
use crate::sign_in::newcomer::{Newcomer, NewcomerChoices};
use crate::sign_in::password::{HashingQueue, PasswordHasher};
use crate::sign_in::ports::{FirstOwner, InstallationStore, ReplaceSetupLinkError, SetupProof};
use crate::sources::Sources;

pub use crate::sign_in::ports::CompleteSetupError;
pub use crate::sign_in::setup_link::{LINK_LIFETIME, SetupDigest, SetupToken};

/// The choices of the first-run setup.
#[derive(Debug)]
pub struct SetupChoices {
    /// Also gives the organization its slug, by [`Organization::new`].
    pub organization: OrganizationName,
    /// The username, display name and password of the first owner.
    pub owner: NewcomerChoices,
}

/// The use cases of the first run.
#[derive(Clone)]
pub struct Setup {
    installation: Arc<dyn InstallationStore>,
    hasher: Arc<dyn PasswordHasher>,
    sources: Sources,
}

impl Setup {
    /// The use cases over these ports.
    #[must_use]
    pub fn new(
        installation: Arc<dyn InstallationStore>,
        hasher: Arc<dyn PasswordHasher>,
        sources: Sources,
    ) -> Self {
        Self {
            installation,
            hasher,
            sources,
        }
    }

    /// Whether the first run is completed.
    pub async fn is_complete(&self) -> Result<bool, StorageError> {
        self.installation.is_set_up().await
    }

    /// Makes a new link; the one before it stops working.
    ///
    /// # Errors
    /// [`ReplaceSetupLinkError::AlreadySetUp`] once the first run is completed.
    pub async fn create_link(&self, source: RequestSource) -> Result<SetupToken, ReplaceSetupLinkError> {
        let act = self.sources.act(Actor::Administrator, source);
        let token = SetupToken::generate(&self.sources);
        let event = act.event(Action::CreateSetupLink, Subject::Installation);
        self.installation
            .replace_setup_link(token.digest(), act.at + LINK_LIFETIME, event)
            .await?;
        Ok(token)
    }

    /// Whether a link works at present.
    pub async fn link_works(&self, token: &SetupToken) -> Result<bool, StorageError> {
        self.installation
            .setup_link_works(&token.digest(), self.sources.now())
            .await
    }

    /// Completes the first run with the link. It works once, also when two people use it at the same time.
    ///
    /// # Errors
    /// See [`CompleteSetupError`]; then nothing was created.
    pub async fn complete(
        &self,
        link: &SetupToken,
        choices: SetupChoices,
        source: RequestSource,
    ) -> Result<Organization, CompleteSetupError> {
        // Checked before the expensive password hash; the store checks again in the transaction.
        if !self.link_works(link).await? {
            let complete = self.is_complete().await?;
            return Err(if complete {
                CompleteSetupError::AlreadySetUp
            } else {
                CompleteSetupError::LinkInvalid
            });
        }
        let act = self.sources.act(Actor::Anonymous, source);
        let proof = SetupProof::Link {
            digest: link.digest(),
            at: act.at,
        };
        self.set_up(proof, choices, act).await
    }

    /// Completes the first run from the command line, without a link.
    ///
    /// # Errors
    /// See [`CompleteSetupError`]; then nothing was created.
    pub async fn bootstrap(&self, choices: SetupChoices) -> Result<Organization, CompleteSetupError> {
        if self.is_complete().await? {
            return Err(CompleteSetupError::AlreadySetUp);
        }
        let act = self.sources.act(Actor::Administrator, RequestSource::default());
        self.set_up(SetupProof::CommandLine, choices, act).await
    }

    async fn set_up(
        &self,
        proof: SetupProof,
        choices: SetupChoices,
        act: Act,
    ) -> Result<Organization, CompleteSetupError> {
        let password_hash = self
            .hasher
            .hash(&choices.owner.password, HashingQueue::OF_INSTALLATION)
            .await?;
        let organization = Organization::new(self.sources.next_id(), choices.organization, act.at);
        let act = act.within(organization.id);
        let owner = Newcomer::new(&self.sources, act.at, choices.owner, organization.id, Role::Owner);
        let act = match act.actor {
            // The user of the link becomes the first owner.
            Actor::Anonymous => Act {
                actor: Actor::User(owner.user.id),
                ..act
            },
            Actor::User(_) | Actor::ApiKey(_) | Actor::Administrator | Actor::System => act,
        };
        let mut events = vec![act.event(Action::CreateOrganization, Subject::Organization(organization.id))];
        events.extend(owner.events(&act));
        let Newcomer { user, membership } = owner;
        let first_owner = FirstOwner {
            organization: organization.clone(),
            user,
            membership,
            password_hash,
        };
        self.installation.set_up(proof, first_owner, events).await?;
        Ok(organization)
    }
}
