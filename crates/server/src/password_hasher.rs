//! The real password hasher: argon2id, with bounded memory.

mod argon2id;

use std::collections::HashMap;
use std::error::Error;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use async_trait::async_trait;
use keyward_domain::random::Random;
use keyward_domain::sign_in::password::{HashingError, HashingQueue, Password, PasswordHash, PasswordHasher};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task;
use tokio::time::timeout;
use zeroize::Zeroizing;

pub(crate) use argon2id::is_affordable;
use argon2id::{DUMMY_HASH, SALT_BYTES, WorkingMemory};

/// How long a password waits for a permit: well below a request's deadline.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The maximum number of a queue's passwords that are hashed or next in line: enough to keep a permit busy,
/// and few enough not to delay other queues.
const MAX_PER_QUEUE: usize = 2;

/// The most hashes at once, each in 19 MiB. Four allow over 100 sign-ins per second.
const MAX_CONCURRENT: usize = 4;

/// Hashes passwords by argon2id, a few at a time, on threads that may block.
pub(crate) struct Argon2idHasher {
    random: Arc<dyn Random>,
    permits: Arc<Semaphore>,
    queues: Mutex<HashMap<HashingQueue, Weak<Semaphore>>>,
    memories: Memories,
    longest_wait: Duration,
}

/// Unused working memories, never more than permits.
type Memories = Arc<Mutex<Vec<WorkingMemory>>>;

/// The permit to compute one hash, held until it is dropped.
struct HashingPermit {
    _of_queue: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

impl Argon2idHasher {
    /// At most half of the processor's cores hash at once, so that a flood of sign-ins leaves the other half
    /// to the API.
    pub(crate) fn new(random: Arc<dyn Random>) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::with(random, cores.div_ceil(2).min(MAX_CONCURRENT), MAX_WAIT)
    }

    fn with(random: Arc<dyn Random>, at_once: usize, longest_wait: Duration) -> Self {
        Self {
            random,
            permits: Arc::new(Semaphore::new(at_once)),
            queues: Mutex::default(),
            memories: Memories::default(),
            longest_wait,
        }
    }

    /// Runs a hash under a permit. The permit is held until the work has ended, even if the caller stops
    /// waiting, because its memory is in use until then.
    async fn with_permit<T, E>(
        &self,
        queue: Option<HashingQueue>,
        work: impl FnOnce(&mut WorkingMemory) -> Result<T, E> + Send + 'static,
    ) -> Result<T, HashingError>
    where
        T: Send + 'static,
        E: Error + Send + Sync + 'static,
    {
        let permit = self.acquire_permit(queue).await?;
        let memories = Arc::clone(&self.memories);
        task::spawn_blocking(move || {
            let free = || memories.lock().unwrap_or_else(PoisonError::into_inner);
            let mut memory = free().pop().unwrap_or_default();
            let result = work(&mut memory);
            free().push(memory);
            drop(permit);
            result
        })
        .await
        .map_err(failed)?
        .map_err(failed)
    }

    async fn acquire_permit(&self, queue: Option<HashingQueue>) -> Result<HashingPermit, HashingError> {
        let permit = async {
            Ok(HashingPermit {
                _of_queue: match queue {
                    Some(queue) => Some(self.places_in(queue).acquire_owned().await?),
                    None => None,
                },
                _of_all: Arc::clone(&self.permits).acquire_owned().await?,
            })
        };
        timeout(self.longest_wait, permit)
            .await
            .map_err(|_| HashingError::Busy)?
            .map_err(|closed: AcquireError| failed(closed))
    }

    /// The places of a queue, which is forgotten when nobody is in it.
    fn places_in(&self, queue: HashingQueue) -> Arc<Semaphore> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = queues.get(&queue).and_then(Weak::upgrade) {
            return places;
        }
        queues.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(MAX_PER_QUEUE));
        queues.insert(queue, Arc::downgrade(&places));
        places
    }
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
            .with_permit(None, move |memory| argon2id::hash(&password, salt, memory))
            .await?;
        Ok(PasswordHash::from_phc_string(phc_string))
    }

    async fn verify(
        &self,
        password: &Password,
        hash: &PasswordHash,
        queue: HashingQueue,
    ) -> Result<bool, HashingError> {
        let password = copied(password);
        let phc_string = hash.as_str().to_owned();
        self.with_permit(Some(queue), move |memory| {
            argon2id::verify(&password, &phc_string, memory)
        })
        .await
    }

    async fn verify_dummy(&self, password: &Password, queue: HashingQueue) -> Result<(), HashingError> {
        let dummy = PasswordHash::from_phc_string(DUMMY_HASH.to_owned());
        self.verify(password, &dummy, queue).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;
    use crate::random::OsRandom;

    const QUEUE: HashingQueue = HashingQueue::of([1; 32]);

    fn hasher() -> Argon2idHasher {
        Argon2idHasher::new(Arc::new(OsRandom))
    }

    #[tokio::test]
    async fn password_verifies_against_its_own_hash_only() {
        let hasher = hasher();
        let password = Password::attempt("correct horse battery staple");
        let hash = hasher.hash(&password).await.unwrap();
        assert!(hasher.verify(&password, &hash, QUEUE).await.unwrap());
        let other = Password::attempt("correct horse battery stable");
        assert!(!hasher.verify(&other, &hash, QUEUE).await.unwrap());
    }

    #[tokio::test]
    async fn hash_is_a_phc_string_with_algorithm_and_costs() {
        let hash = hasher().hash(&Password::attempt("any password")).await.unwrap();
        let costs = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(hash.as_str().starts_with(costs), "{}", hash.as_str());
    }

    #[tokio::test]
    async fn same_password_hashes_differently_each_time() {
        let hasher = hasher();
        let password = Password::attempt("any password");
        let first = hasher.hash(&password).await.unwrap();
        let second = hasher.hash(&password).await.unwrap();
        assert_ne!(first, second);
    }

    #[tokio::test]
    async fn unreadable_hash_is_an_error_instead_of_a_mismatch() {
        let hash = PasswordHash::from_phc_string("plain".to_owned());
        let verified = hasher().verify(&Password::attempt("plain"), &hash, QUEUE).await;
        assert!(matches!(verified, Err(HashingError::Failed(_))), "{verified:?}");
    }

    #[tokio::test]
    async fn waiting_too_long_for_a_hashing_slot_reports_busy() {
        let hasher = Argon2idHasher::with(Arc::new(OsRandom), 1, Duration::from_millis(10));
        let permit = hasher.acquire_permit(None).await.unwrap();
        let password = Password::attempt("any password");
        assert!(matches!(hasher.hash(&password).await, Err(HashingError::Busy)));
        assert!(matches!(
            hasher.verify_dummy(&password, QUEUE).await,
            Err(HashingError::Busy)
        ));
        drop(permit);
        let hasher = Argon2idHasher {
            longest_wait: MAX_WAIT,
            ..hasher
        };
        hasher.verify_dummy(&password, QUEUE).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn one_hashing_queue_leaves_slots_to_others() {
        let hasher = Argon2idHasher::with(Arc::new(OsRandom), 3, MAX_WAIT);
        let first = hasher.acquire_permit(Some(QUEUE)).await.unwrap();
        let _second = hasher.acquire_permit(Some(QUEUE)).await.unwrap();
        assert!(matches!(
            hasher.acquire_permit(Some(QUEUE)).await,
            Err(HashingError::Busy)
        ));

        let other = HashingQueue::of([2; 32]);
        drop(hasher.acquire_permit(Some(other)).await.unwrap());
        drop(first);
        hasher.acquire_permit(Some(QUEUE)).await.unwrap();
        assert_eq!(hasher.queues.lock().unwrap().len(), 2, "of both, one is in use");
        drop(
            hasher
                .acquire_permit(Some(HashingQueue::of([3; 32])))
                .await
                .unwrap(),
        );
        assert_eq!(
            hasher.queues.lock().unwrap().len(),
            2,
            "an empty one is forgotten"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_hashing_memory_is_limited_by_slots() {
        let hasher = Argon2idHasher::with(Arc::new(OsRandom), 2, Duration::MAX);
        let hasher = Arc::new(hasher);
        let mut attempts = JoinSet::new();
        for number in 0..12 {
            let hasher = Arc::clone(&hasher);
            let queue = HashingQueue::of([number; 32]);
            attempts.spawn(async move {
                let password = Password::attempt("any password");
                hasher.verify_dummy(&password, queue).await
            });
        }
        while let Some(attempt) = attempts.join_next().await {
            attempt.unwrap().unwrap();
        }
        let free = hasher.memories.lock().unwrap().len();
        assert!((1..=2).contains(&free), "{free} working memories");
    }
}
