//! argon2id, with bounded memory.

use std::error::Error;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use argon2::password_hash::{Error as Argon2Error, PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use async_trait::async_trait;
use keyward_domain::random::Random;
use keyward_domain::sign_in::password::{HashingError, Password, PasswordHash, PasswordHasher};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// Kibibytes that one hash takes: 19 MiB, as OWASP's password storage cheat sheet asks with two passes.
const MEMORY: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// RFC 9106 §3.1: 16 bytes are recommended for password hashing.
const SALT_BYTES: usize = 16;

/// What the password of a user who does not exist is checked against: the costs of every other hash, and no password.
const NOBODYS_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// How long a password waits for its turn: well below the deadline of a request.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// Hashes passwords by argon2id (RFC 9106), a few at a time, on threads that may block.
pub(crate) struct Argon2idHasher {
    random: Arc<dyn Random>,
    turns: Arc<Semaphore>,
    longest_wait: Duration,
}

impl Argon2idHasher {
    /// Half of the processor's cores may hash at once, so that a flood of sign-ins leaves the other half to the API.
    pub(crate) fn new(random: Arc<dyn Random>) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::with(random, cores.div_ceil(2), LONGEST_WAIT)
    }

    fn with(random: Arc<dyn Random>, at_once: usize, longest_wait: Duration) -> Self {
        Self {
            random,
            turns: Arc::new(Semaphore::new(at_once)),
            longest_wait,
        }
    }

    /// Runs slow work when its turn comes. The turn lasts until the work has ended, even if the caller stops waiting:
    /// its memory is in use until then.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Argon2<'_>) -> Result<T, Argon2Error> + Send + 'static,
    ) -> Result<T, HashingError> {
        let turn = self.turn().await?;
        task::spawn_blocking(move || {
            let result = argon2id().and_then(|argon2| work(&argon2));
            drop(turn);
            result
        })
        .await
        .map_err(failed)?
        .map_err(failed)
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, HashingError> {
        timeout(self.longest_wait, Arc::clone(&self.turns).acquire_owned())
            .await
            .map_err(|_| HashingError::Busy)?
            .map_err(failed)
    }
}

fn argon2id() -> Result<Argon2<'static>, Argon2Error> {
    let parameters = Params::new(MEMORY, PASSES, LANES, None)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters))
}

fn failed(error: impl Error + Send + Sync + 'static) -> HashingError {
    HashingError::Failed(Box::new(error))
}

fn copied(password: &Password) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(password.expose().as_bytes().to_vec())
}

#[async_trait]
impl PasswordHasher for Argon2idHasher {
    async fn hash(&self, password: &Password) -> Result<PasswordHash, HashingError> {
        let password = copied(password);
        let mut salt = [0_u8; SALT_BYTES];
        self.random.fill(&mut salt);
        let phc_string = self
            .in_turn(move |argon2| Ok(argon2.hash_password_with_salt(&password, &salt)?.to_string()))
            .await?;
        Ok(PasswordHash::from_phc_string(phc_string))
    }

    async fn verify(&self, password: &Password, hash: &PasswordHash) -> Result<bool, HashingError> {
        let password = copied(password);
        let phc_string = hash.as_str().to_owned();
        self.in_turn(
            move |argon2| match argon2.verify_password(&password, phc_string.as_str()) {
                Ok(()) => Ok(true),
                Err(Argon2Error::PasswordInvalid) => Ok(false),
                Err(error) => Err(error),
            },
        )
        .await
    }

    async fn verify_nothing(&self, password: &Password) -> Result<(), HashingError> {
        let nobodys = PasswordHash::from_phc_string(NOBODYS_HASH.to_owned());
        self.verify(password, &nobodys).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::OsRandom;

    fn hasher() -> Argon2idHasher {
        Argon2idHasher::new(Arc::new(OsRandom))
    }

    #[tokio::test]
    async fn a_password_verifies_against_its_own_hash_only() {
        let hasher = hasher();
        let password = Password::attempt("correct horse battery staple");
        let hash = hasher.hash(&password).await.unwrap();
        assert!(hasher.verify(&password, &hash).await.unwrap());
        let other = Password::attempt("correct horse battery stable");
        assert!(!hasher.verify(&other, &hash).await.unwrap());
    }

    #[tokio::test]
    async fn a_hash_is_a_phc_string_that_names_algorithm_and_costs() {
        let hash = hasher().hash(&Password::attempt("any password")).await.unwrap();
        let costs = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(hash.as_str().starts_with(costs), "{}", hash.as_str());
    }

    #[tokio::test]
    async fn one_password_has_another_hash_each_time() {
        let hasher = hasher();
        let password = Password::attempt("any password");
        let first = hasher.hash(&password).await.unwrap();
        let second = hasher.hash(&password).await.unwrap();
        assert_ne!(first, second);
    }

    #[tokio::test]
    async fn an_unreadable_hash_is_a_failure_and_no_match() {
        let hash = PasswordHash::from_phc_string("plain".to_owned());
        let verified = hasher().verify(&Password::attempt("plain"), &hash).await;
        assert!(matches!(verified, Err(HashingError::Failed(_))), "{verified:?}");
    }

    #[tokio::test]
    async fn who_waits_too_long_for_a_turn_is_told_that_it_is_busy() {
        let hasher = Argon2idHasher::with(Arc::new(OsRandom), 1, Duration::from_millis(10));
        let turn = hasher.turn().await.unwrap();
        let password = Password::attempt("any password");
        assert!(matches!(hasher.hash(&password).await, Err(HashingError::Busy)));
        assert!(matches!(
            hasher.verify_nothing(&password).await,
            Err(HashingError::Busy)
        ));
        drop(turn);
        hasher.verify_nothing(&password).await.unwrap();
    }

    #[tokio::test]
    async fn checking_nothing_costs_what_checking_a_hash_costs() {
        let hasher = hasher();
        let password = Password::attempt("any password");
        let hash = hasher.hash(&password).await.unwrap();
        let costs = |phc_string: &str| phc_string.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(costs(NOBODYS_HASH), costs(hash.as_str()));
        assert_eq!(NOBODYS_HASH.len(), hash.as_str().len());
        let nobodys = PasswordHash::from_phc_string(NOBODYS_HASH.to_owned());
        assert!(!hasher.verify(&password, &nobodys).await.unwrap());
        hasher.verify_nothing(&password).await.unwrap();
    }
}
