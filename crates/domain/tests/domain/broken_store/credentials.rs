use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;

use super::{BrokenStore, Fault, lock};

#[async_trait]
impl Credentials for BrokenStore {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let digest = &self.known_as(*digest);
        if self.fault == Fault::RemembersCredentials {
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
        Ok(found)
    }
}

impl BrokenStore {
    /// The digest that the fault takes this one for.
    fn known_as(&self, digest: TokenDigest) -> TokenDigest {
        let Fault::ComparesDigestsByTheirFirst(bytes) = self.fault else {
            return digest;
        };
        let begins_so = |known: &&TokenDigest| known.as_bytes()[..bytes] == digest.as_bytes()[..bytes];
        lock(&self.digests)
            .values()
            .find(begins_so)
            .copied()
            .unwrap_or(digest)
    }
}
