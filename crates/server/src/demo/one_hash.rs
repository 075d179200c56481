//! One password for all made-up people.

use async_trait::async_trait;
use keyward_domain::sign_in::password::{HashingError, Password, PasswordHash, PasswordHasher};
use tokio::sync::OnceCell;

use crate::password_hasher::Argon2idHasher;

/// Hashes the first password and takes every other for the same: a hash is slow on purpose, and there are many people.
pub(super) struct OneHash {
    hasher: Argon2idHasher,
    hash: OnceCell<PasswordHash>,
}

impl OneHash {
    pub(super) fn new(hasher: Argon2idHasher) -> Self {
        Self {
            hasher,
            hash: OnceCell::new(),
        }
    }
}

#[async_trait]
impl PasswordHasher for OneHash {
    async fn hash(&self, password: &Password) -> Result<PasswordHash, HashingError> {
        let hash = self.hash.get_or_try_init(|| self.hasher.hash(password)).await?;
        Ok(hash.clone())
    }

    async fn verify(&self, password: &Password, hash: &PasswordHash) -> Result<bool, HashingError> {
        self.hasher.verify(password, hash).await
    }

    async fn verify_nothing(&self, password: &Password) -> Result<(), HashingError> {
        self.hasher.verify_nothing(password).await
    }
}
