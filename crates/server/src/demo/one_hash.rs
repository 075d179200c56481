//! One password for all users of the demo.

use async_trait::async_trait;
use keyward_domain::sign_in::password::{
    HashingError, HashingQueue, HashingQueues, Password, PasswordHash, PasswordHasher,
};
use tokio::sync::OnceCell;

use crate::password_hasher::Argon2idHasher;

/// Hashes only the first password and returns its hash for all others, because a hash is slow on purpose and
/// the demo has many users. Passwords are verified by comparing them with the first, because the demo also
/// has many wrong guesses.
pub(super) struct OneHash {
    hasher: Argon2idHasher,
    hashed: OnceCell<(Password, PasswordHash)>,
}

impl OneHash {
    pub(super) fn new(hasher: Argon2idHasher) -> Self {
        Self {
            hasher,
            hashed: OnceCell::new(),
        }
    }
}

#[async_trait]
impl PasswordHasher for OneHash {
    async fn hash(&self, password: &Password, queue: HashingQueue) -> Result<PasswordHash, HashingError> {
        let hashed = self.hashed.get_or_try_init(async || {
            let first = Password::attempt(password.expose());
            Ok((first, self.hasher.hash(password, queue).await?))
        });
        let (_, hash) = hashed.await?;
        Ok(hash.clone())
    }

    async fn verify(
        &self,
        password: &Password,
        hash: &PasswordHash,
        _queues: HashingQueues,
    ) -> Result<bool, HashingError> {
        let hashed = self.hashed.get();
        Ok(hashed.is_some_and(|(first, its)| first.expose() == password.expose() && its == hash))
    }

    async fn verify_dummy(&self, _password: &Password, _queues: HashingQueues) -> Result<(), HashingError> {
        Ok(())
    }
}
