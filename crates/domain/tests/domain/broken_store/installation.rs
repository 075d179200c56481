use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{
    CompleteSetupError, FirstOwner, InstallationStore, ReplaceSetupLinkError, SetupProof,
};
use keyward_domain::sign_in::remembered_browser::BrowserKey;
use keyward_domain::sign_in::setup::SetupDigest;

use super::{BrokenStore, Secret};

#[async_trait]
impl InstallationStore for BrokenStore {
    async fn browser_key(&self, candidate: BrowserKey) -> Result<BrowserKey, StorageError> {
        self.sound.browser_key(candidate).await
    }

    async fn is_set_up(&self) -> Result<bool, StorageError> {
        self.sound.is_set_up().await
    }

    async fn replace_setup_link(
        &self,
        digest: SetupDigest,
        expires_at: DateTime<Utc>,
        event: AuditEvent,
    ) -> Result<(), ReplaceSetupLinkError> {
        self.sound.replace_setup_link(digest, expires_at, event).await?;
        self.keep_digest(Secret::SetupLink, digest.as_bytes());
        Ok(())
    }

    async fn setup_link_works(&self, digest: &SetupDigest, now: DateTime<Utc>) -> Result<bool, StorageError> {
        let digest = self.setup_link_taken_for(digest);
        self.sound.setup_link_works(&digest, now).await
    }

    async fn set_up(
        &self,
        proof: SetupProof,
        first_owner: FirstOwner,
        events: Vec<AuditEvent>,
    ) -> Result<(), CompleteSetupError> {
        let proof = match proof {
            SetupProof::Link { digest, at } => SetupProof::Link {
                digest: self.setup_link_taken_for(&digest),
                at,
            },
            SetupProof::CommandLine => proof,
        };
        self.sound.set_up(proof, first_owner, events).await
    }
}

impl BrokenStore {
    fn setup_link_taken_for(&self, digest: &SetupDigest) -> SetupDigest {
        SetupDigest::from_bytes(self.taken_for(Secret::SetupLink, digest.as_bytes()))
    }
}
