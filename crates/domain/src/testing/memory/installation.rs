use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State};
use crate::audit::AuditEvent;
use crate::ports::StorageError;
use crate::sign_in::accounts::Account;
use crate::sign_in::ports::{
    CompleteSetupError, FirstOwner, InstallationStore, ReplaceSetupLinkError, SetupProof,
};
use crate::sign_in::remembered_browser::BrowserKey;
use crate::sign_in::setup::SetupDigest;

#[async_trait]
impl InstallationStore for MemoryStore {
    async fn browser_key(&self, candidate: BrowserKey) -> Result<BrowserKey, StorageError> {
        Ok(self.state()?.browser_key.get_or_insert(candidate).clone())
    }

    async fn is_set_up(&self) -> Result<bool, StorageError> {
        Ok(self.state()?.is_set_up())
    }

    async fn replace_setup_link(
        &self,
        digest: SetupDigest,
        expires_at: DateTime<Utc>,
        event: AuditEvent,
    ) -> Result<(), ReplaceSetupLinkError> {
        let mut state = self.state()?;
        if state.is_set_up() {
            return Err(ReplaceSetupLinkError::AlreadySetUp);
        }
        state.write(vec![event])?;
        state.setup_link = Some((digest, expires_at));
        Ok(())
    }

    async fn setup_link_works(&self, digest: &SetupDigest, now: DateTime<Utc>) -> Result<bool, StorageError> {
        Ok(self.state()?.link_works(digest, now))
    }

    async fn set_up(
        &self,
        proof: SetupProof,
        first_owner: FirstOwner,
        events: Vec<AuditEvent>,
    ) -> Result<(), CompleteSetupError> {
        let mut state = self.state()?;
        if state.is_set_up() {
            return Err(CompleteSetupError::AlreadySetUp);
        }
        match proof {
            SetupProof::Link { digest, at } if !state.link_works(&digest, at) => {
                return Err(CompleteSetupError::LinkInvalid);
            }
            SetupProof::Link { .. } | SetupProof::CommandLine => {}
        }
        let FirstOwner {
            organization,
            user,
            membership,
            password_hash,
        } = first_owner;
        state.write(events)?;
        state.setup_link = None;
        state.organizations.push(organization);
        state.accounts.push(Account { user, password_hash });
        state.memberships.push(membership);
        Ok(())
    }
}

impl State {
    fn is_set_up(&self) -> bool {
        !self.organizations.is_empty()
    }

    fn link_works(&self, digest: &SetupDigest, now: DateTime<Utc>) -> bool {
        self.setup_link
            .is_some_and(|(stored, expires_at)| stored == *digest && now < expires_at)
    }
}
