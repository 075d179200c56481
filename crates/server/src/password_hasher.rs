//! The real password hasher: argon2id, with bounded memory.

mod argon2id;

use std::collections::HashMap;
use std::error::Error;
use std::num::NonZero;
use std::sync::{Arc, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use async_trait::async_trait;
use keyward_domain::random::Random;
use keyward_domain::sign_in::password::{
    HashingError, HashingQueue, HashingQueues, Password, PasswordHash, PasswordHasher,
};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
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

/// The maximum length of a queue, including those that are hashed: about as many passwords as are hashed in
/// [`MAX_WAIT`] on two cores. More would hold their connections until they time out.
const MAX_QUEUE: usize = 100;

/// The most hashes at once, each in 19 MiB. Four allow over 100 sign-ins per second.
const MAX_CONCURRENT: usize = 4;

/// Hashes passwords by argon2id, a few at a time, on threads that may block.
pub(crate) struct Argon2idHasher {
    random: Arc<dyn Random>,
    permits: Arc<Semaphore>,
    /// As many permits as in `permits`. Strangers acquire one of these first, so that they delay only each
    /// other.
    permits_of_strangers: Arc<Semaphore>,
    queues: Mutex<HashMap<HashingQueue, Weak<Semaphore>>>,
    memories: Memories,
    longest_wait: Duration,
}

/// Unused working memories, at most one for each permit.
type Memories = Arc<Mutex<Vec<WorkingMemory>>>;

/// The permit to compute one hash, held until it is dropped.
struct HashingPermit {
    _of_queues: Vec<OwnedSemaphorePermit>,
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
            permits_of_strangers: Arc::new(Semaphore::new(at_once)),
            queues: Mutex::default(),
            memories: Memories::default(),
            longest_wait,
        }
    }

    /// Runs a hash under a permit. The permit is held until the work has ended, even if the caller stops
    /// waiting, because its memory is in use until then.
    async fn with_permit<T, E>(
        &self,
        queues: HashingQueues,
        work: impl FnOnce(&mut WorkingMemory) -> Result<T, E> + Send + 'static,
    ) -> Result<T, HashingError>
    where
        T: Send + 'static,
        E: Error + Send + Sync + 'static,
    {
        let permit = self.acquire_permit(queues).await?;
        let memories = Arc::clone(&self.memories);
        task::spawn_blocking(move || {
            let free = || memories.lock();
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

    async fn acquire_permit(&self, queues: HashingQueues) -> Result<HashingPermit, HashingError> {
        let permit = async {
            let mut of_queues = Vec::new();
            // A stranger joins the account's queue only after its turn in the network's, so that many
            // attempts from one network do not fill the queues of the accounts that they try.
            for queue in in_order(queues) {
                of_queues.push(acquired(self.places_in(queue)?).await?);
            }
            if let HashingQueues::Stranger { .. } = queues {
                of_queues.push(acquired(Arc::clone(&self.permits_of_strangers)).await?);
            }
            Ok(HashingPermit {
                _of_queues: of_queues,
                _of_all: acquired(Arc::clone(&self.permits)).await?,
            })
        };
        timeout(self.longest_wait, permit)
            .await
            .unwrap_or(Err(HashingError::Busy))
    }

    /// The places of a queue. Each password in the queue holds them; when there is none, the queue is
    /// removed.
    fn places_in(&self, queue: HashingQueue) -> Result<Arc<Semaphore>, HashingError> {
        let mut queues = self.queues.lock();
        if let Some(places) = queues.get(&queue).and_then(Weak::upgrade) {
            let length = Arc::strong_count(&places);
            return if length > MAX_QUEUE {
                Err(HashingError::Busy)
            } else {
                Ok(places)
            };
        }
        queues.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(MAX_PER_QUEUE));
        queues.insert(queue, Arc::downgrade(&places));
        Ok(places)
    }
}

/// The queues in which a password waits, one after the other.
fn in_order(queues: HashingQueues) -> impl Iterator<Item = HashingQueue> {
    let (first, second) = match queues {
        HashingQueues::Known(queue) => (None, queue),
        HashingQueues::Stranger { network, account } => (network, account),
    };
    first.into_iter().chain([second])
}

async fn acquired(semaphore: Arc<Semaphore>) -> Result<OwnedSemaphorePermit, HashingError> {
    semaphore.acquire_owned().await.map_err(failed)
}

fn failed(error: impl Error + Send + Sync + 'static) -> HashingError {
    HashingError::Failed(Box::new(error))
}

fn copied(password: &Password) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(password.expose().as_bytes().to_vec())
}

#[async_trait]
impl PasswordHasher for Argon2idHasher {
    async fn hash(&self, password: &Password, queue: HashingQueue) -> Result<PasswordHash, HashingError> {
        let password = copied(password);
        let mut salt = [0_u8; SALT_BYTES];
        self.random.fill(&mut salt);
        let phc_string = self
            .with_permit(HashingQueues::Known(queue), move |memory| {
                argon2id::hash(&password, salt, memory)
            })
            .await?;
        Ok(PasswordHash::from_phc_string(phc_string))
    }

    async fn verify(
        &self,
        password: &Password,
        hash: &PasswordHash,
        queues: HashingQueues,
    ) -> Result<bool, HashingError> {
        let password = copied(password);
        let phc_string = hash.as_str().to_owned();
        self.with_permit(queues, move |memory| {
            argon2id::verify(&password, &phc_string, memory)
        })
        .await
    }

    async fn verify_dummy(&self, password: &Password, queues: HashingQueues) -> Result<(), HashingError> {
        let dummy = PasswordHash::from_phc_string(DUMMY_HASH.to_owned());
        self.verify(password, &dummy, queues).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::random::OsRandom;

    const QUEUE: HashingQueue = HashingQueue::of([u8::MAX; 32]);
    const KNOWN: HashingQueues = HashingQueues::Known(QUEUE);

    /// The numbers must be below 127, so that all queues differ.
    const fn stranger(network: u8, account: u8) -> HashingQueues {
        HashingQueues::Stranger {
            network: Some(HashingQueue::of([network + 1; 32])),
            account: HashingQueue::of([account + 128; 32]),
        }
    }

    /// The clock is paused, so it advances only when no task can run.
    async fn until_all_wait() {
        sleep(Duration::from_millis(1)).await;
    }

    /// Whether these queues get no permit while others hold theirs.
    async fn is_busy(hasher: &Argon2idHasher, queues: HashingQueues) -> bool {
        let permit = hasher.acquire_permit(queues).await;
        matches!(permit, Err(HashingError::Busy))
    }

    fn hasher() -> Argon2idHasher {
        Argon2idHasher::new(Arc::new(OsRandom))
    }

    #[tokio::test]
    async fn password_verifies_against_its_own_hash_only() {
        let hasher = hasher();
        let password = Password::attempt("correct horse battery staple");
        let hash = hasher.hash(&password, QUEUE).await.unwrap();
        assert!(hasher.verify(&password, &hash, KNOWN).await.unwrap());
        let other = Password::attempt("correct horse battery stable");
        assert!(!hasher.verify(&other, &hash, KNOWN).await.unwrap());
    }

    #[tokio::test]
    async fn hash_is_a_phc_string_with_algorithm_and_costs() {
        let hash = hasher()
            .hash(&Password::attempt("any password"), QUEUE)
            .await
            .unwrap();
        let costs = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(hash.as_str().starts_with(costs), "{}", hash.as_str());
    }

    #[tokio::test]
    async fn same_password_hashes_differently_each_time() {
        let hasher = hasher();
        let password = Password::attempt("any password");
        let first = hasher.hash(&password, QUEUE).await.unwrap();
        let second = hasher.hash(&password, QUEUE).await.unwrap();
        assert_ne!(first, second);
    }

    #[tokio::test]
    async fn unreadable_hash_is_an_error_instead_of_a_mismatch() {
        let hash = PasswordHash::from_phc_string("plain".to_owned());
        let verified = hasher().verify(&Password::attempt("plain"), &hash, KNOWN).await;
        assert!(matches!(verified, Err(HashingError::Failed(_))), "{verified:?}");
    }

    #[tokio::test]
    async fn waiting_too_long_for_a_hashing_slot_reports_busy() {
        let hasher = Argon2idHasher::with(Arc::new(OsRandom), 1, Duration::from_millis(10));
        let permit = hasher.acquire_permit(KNOWN).await.unwrap();
        let password = Password::attempt("any password");
        assert!(matches!(
            hasher.hash(&password, QUEUE).await,
            Err(HashingError::Busy)
        ));
        assert!(matches!(
            hasher.verify_dummy(&password, KNOWN).await,
            Err(HashingError::Busy)
        ));
        drop(permit);
        let hasher = Argon2idHasher {
            longest_wait: MAX_WAIT,
            ..hasher
        };
        hasher.verify_dummy(&password, KNOWN).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn one_hashing_queue_leaves_slots_to_others() {
        let hasher = Argon2idHasher::with(Arc::new(OsRandom), 3, MAX_WAIT);
        let acquire = async |queues| hasher.acquire_permit(queues).await.unwrap();
        let first = acquire(KNOWN).await;
        let _second = acquire(KNOWN).await;
        assert!(is_busy(&hasher, KNOWN).await);

        let known = |number| HashingQueues::Known(HashingQueue::of([number; 32]));
        drop(acquire(known(2)).await);
        drop(first);
        acquire(KNOWN).await;
        assert_eq!(hasher.queues.lock().len(), 2, "both are in use");
        drop(acquire(known(3)).await);
        assert_eq!(hasher.queues.lock().len(), 2, "an empty one is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_of_one_network_or_account_leave_slots_to_others() {
        for same in [
            [stranger(2, 3), stranger(2, 4), stranger(2, 5)],
            [stranger(2, 3), stranger(4, 3), stranger(5, 3)],
        ] {
            let hasher = Argon2idHasher::with(Arc::new(OsRandom), 3, MAX_WAIT);
            let acquire = async |queues| hasher.acquire_permit(queues).await.unwrap();
            let _held = [acquire(same[0]).await, acquire(same[1]).await];
            assert!(is_busy(&hasher, same[2]).await, "{same:?}");
            acquire(stranger(6, 7)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_strangers_of_a_network_occupy_no_places_of_accounts() {
        let hasher = Arc::new(Argon2idHasher::with(Arc::new(OsRandom), 3, MAX_WAIT));
        let acquire = async |queues| hasher.acquire_permit(queues).await.unwrap();
        let _held = [acquire(stranger(2, 3)).await, acquire(stranger(2, 4)).await];
        let waiting = tokio::spawn({
            let hasher = Arc::clone(&hasher);
            async move { is_busy(&hasher, stranger(2, 5)).await && is_busy(&hasher, stranger(2, 5)).await }
        });
        until_all_wait().await;
        drop(acquire(stranger(6, 5)).await);
        assert!(waiting.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn known_user_waits_for_few_strangers_and_few_others() {
        let hasher = Arc::new(Argon2idHasher::with(Arc::new(OsRandom), 1, MAX_WAIT));
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = JoinSet::new();
        let mut join = |name: &'static str, queues| {
            let (hasher, order) = (Arc::clone(&hasher), Arc::clone(&order));
            all.spawn(async move {
                let permit = hasher.acquire_permit(queues).await.unwrap();
                order.lock().push(name);
                drop(permit);
            });
        };
        let hashing = hasher.acquire_permit(stranger(0, 0)).await.unwrap();
        let of_invitation = HashingQueues::Known(HashingQueue::OF_INSTALLATION);
        for number in 1..100 {
            join("stranger", stranger(number, number));
            join("newcomer", of_invitation);
        }
        until_all_wait().await;
        join("remembered", KNOWN);
        until_all_wait().await;
        drop(hashing);
        while let Some(done) = all.join_next().await {
            done.unwrap();
        }
        let order = order.lock();
        assert_eq!(order[..3], ["newcomer", "newcomer", "remembered"]);
        assert_eq!(order.len(), 199, "each has their turn");
    }

    #[tokio::test(start_paused = true)]
    async fn full_queue_is_busy_at_once_and_only_for_itself() {
        let hasher = Arc::new(Argon2idHasher::with(Arc::new(OsRandom), 1, MAX_WAIT));
        let _held = hasher.acquire_permit(stranger(1, 1)).await.unwrap();
        let mut waiting = JoinSet::new();
        for number in 2..=100 {
            let hasher = Arc::clone(&hasher);
            waiting.spawn(async move { is_busy(&hasher, stranger(1, number)).await });
        }
        until_all_wait().await;
        let begun = Instant::now();
        assert!(is_busy(&hasher, stranger(1, 101)).await);
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert!(is_busy(&hasher, stranger(2, 101)).await);
        assert_eq!(begun.elapsed(), MAX_WAIT, "it has waited for its turn");
        assert_eq!(waiting.join_all().await, [true; 99]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_hashing_memory_is_limited_by_slots() {
        let hasher = Argon2idHasher::with(Arc::new(OsRandom), 2, Duration::MAX);
        let hasher = Arc::new(hasher);
        let mut attempts = JoinSet::new();
        for number in 0..12 {
            let hasher = Arc::clone(&hasher);
            attempts.spawn(async move {
                let password = Password::attempt("any password");
                hasher.verify_dummy(&password, stranger(number, number)).await
            });
        }
        while let Some(attempt) = attempts.join_next().await {
            attempt.unwrap().unwrap();
        }
        let free = hasher.memories.lock().len();
        assert!((1..=2).contains(&free), "{free} working memories");
    }
}
