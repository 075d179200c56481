use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;
use keyward_domain::validity::End;

use super::{BrokenStore, Fault, Secret, lock};

#[async_trait]
impl Credentials for BrokenStore {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let digest = &TokenDigest::from_bytes(self.taken_for(Secret::Token, digest.as_bytes()));
        if self.fault == Fault::CachesCredentials {
            let remembered = lock(&self.credentials)
                .iter()
                .find(|(known, _)| known == digest)
                .cloned();
            if let Some((_, credential)) = remembered {
                return Ok(Some(credential));
            }
        }
        let found = Credentials::find(&self.sound, digest).await?;
        if let Some(credential) = &found {
            lock(&self.credentials).push((*digest, credential.clone()));
        }
        Ok(found.map(|found| {
            let credential = Credential {
                key_end: self.as_stored(found.key_end),
                membership_end: self.as_stored(found.membership_end),
                ..found
            };
            self.credential_as_read(credential)
        }))
    }
}

impl BrokenStore {
    /// The end that a credential contains.
    const fn as_stored(&self, end: Option<End>) -> Option<End> {
        match (self.fault, end) {
            (Fault::AcceptsKeysBeyondTheirPlannedEnd, Some(End::Planned(_))) => None,
            (Fault::RefusesKeysBeforeTheirPlannedEnd, Some(End::Planned(at))) => Some(End::Come(at)),
            (_, end) => end,
        }
    }
}
