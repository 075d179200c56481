//! Password hashing without its cost.

use async_trait::async_trait;

use crate::sign_in::password::{
    HashingError, HashingQueue, HashingQueues, Password, PasswordHash, PasswordHasher,
};

/// "Hashes" a password by writing a word before it. For tests only.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainHasher;

impl PlainHasher {
    /// The hash of a password.
    #[must_use]
    pub fn hash_of(password: &Password) -> PasswordHash {
        PasswordHash::from_phc_string(format!("plain${}", password.expose()))
    }
}

#[async_trait]
impl PasswordHasher for PlainHasher {
    async fn hash(&self, password: &Password, _queue: HashingQueue) -> Result<PasswordHash, HashingError> {
        Ok(Self::hash_of(password))
    }

    async fn verify(
        &self,
        password: &Password,
        hash: &PasswordHash,
        _queues: HashingQueues,
    ) -> Result<bool, HashingError> {
        Ok(*hash == Self::hash_of(password))
    }

    async fn verify_dummy(&self, _password: &Password, _queues: HashingQueues) -> Result<(), HashingError> {
        Ok(())
    }
}
