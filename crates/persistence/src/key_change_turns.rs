//! Limits how many changes of one consumer's keys are under way at once.
//!
//! The database makes these changes one after the other in any case, because each locks the consumer's membership
//! first. While it waits for that lock, a change holds a connection of PostgreSQL's, or is in the queue for SQLite's
//! writer. So without a limit, the changes of one consumer, which may come from any number of addresses, would leave
//! others no connection.
//!
//! A consumer's turns are divided among actors, not among addresses, and revocations by people do not wait for those by
//! keys, of which a consumer may have a hundred: so the thief of one key cannot keep its user from revoking it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use keyward_domain::audit::Actor;
use keyward_domain::id::MembershipId;
use keyward_domain::ports::StorageError;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::abort::TooSlow;
use crate::client::Client;
use crate::fair_semaphore::{FairPermit, FairSemaphore};

/// The maximum number of changes of one consumer under way, if the store has enough connections: one holds the lock,
/// and the next have sent their first statements by the time it is free.
const MAX_AT_ONCE: usize = 4;

/// The least number of connections of which revocations by keys have some of their own.
const MANY_CONNECTIONS: usize = 8;

/// A store's turns. Clones share them.
#[derive(Clone)]
pub(crate) struct KeyChangeTurns {
    changes: ConsumerTurns,
    revocations_by_keys: ConsumerTurns,
    revocations: ConsumerTurns,
    leak_reports: ConsumerTurns,
}

impl KeyChangeTurns {
    /// Turns of a store with this many connections, of which, if they are four or more, one consumer gets at most three
    /// quarters.
    pub(crate) fn of_store(connections: usize) -> Self {
        let of_each = (connections / 4).clamp(1, MAX_AT_ONCE);
        let changes = ConsumerTurns::new(of_each);
        Self {
            revocations_by_keys: if connections < MANY_CONNECTIONS {
                changes.clone()
            } else {
                ConsumerTurns::new(of_each)
            },
            changes,
            revocations: ConsumerTurns::new(of_each.div_ceil(2)),
            leak_reports: ConsumerTurns::new(1),
        }
    }

    /// The turn of an addition, an edit or a rotation.
    pub(crate) fn of_change(&self, consumer: MembershipId, actor: &Actor) -> TurnRequest {
        TurnRequest::new(&self.changes, consumer, actor)
    }

    /// The turn of a revocation. Those by people wait for nothing else; those by keys only for each other and, if there
    /// are few connections, for changes; reports of leaks, which strangers send, only for each other.
    pub(crate) fn of_revocation(&self, consumer: MembershipId, actor: &Actor) -> TurnRequest {
        let turns = match actor {
            Actor::ApiKey(_) => &self.revocations_by_keys,
            Actor::Anonymous => &self.leak_reports,
            Actor::User(_) | Actor::Administrator | Actor::System => &self.revocations,
        };
        TurnRequest::new(turns, consumer, actor)
    }
}

/// The turns of each consumer that has one or waits for one.
#[derive(Clone)]
struct ConsumerTurns {
    of_each: usize,
    held: Arc<Mutex<HashMap<MembershipId, Turns>>>,
}

struct Turns {
    semaphore: FairSemaphore,
    /// The number of changes that have a turn or wait for one.
    places: usize,
}

/// A turn to be waited for.
#[derive(Clone)]
pub(crate) struct TurnRequest {
    of: ConsumerTurns,
    consumer: MembershipId,
    client: Client,
}

/// The turn of one change, until it is dropped.
struct ChangeTurn {
    _permit: FairPermit,
    _place: Place,
}

struct Place {
    of: ConsumerTurns,
    consumer: MembershipId,
}

impl TurnRequest {
    fn new(of: &ConsumerTurns, consumer: MembershipId, actor: &Actor) -> Self {
        Self {
            of: of.clone(),
            consumer,
            client: Client::of_actor(actor),
        }
    }

    async fn wait(self, until: Instant) -> Result<ChangeTurn, StorageError> {
        let (semaphore, place) = self.of.join(self.consumer);
        match timeout_at(until, self.client.run(semaphore.acquire())).await {
            Ok(permit) => Ok(ChangeTurn {
                _permit: permit,
                _place: place,
            }),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Turn.into())),
        }
    }
}

/// Makes a change, which must wait for its turn if it needs one. The turn is held until the transaction is over.
pub(crate) async fn in_turn<T, E: From<StorageError>>(
    turn: Option<TurnRequest>,
    until: Instant,
    change: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let _turn = match turn {
        Some(turn) => Some(turn.wait(until).await?),
        None => None,
    };
    change.await
}

impl ConsumerTurns {
    fn new(of_each: usize) -> Self {
        Self {
            of_each,
            held: Arc::default(),
        }
    }

    fn join(&self, consumer: MembershipId) -> (FairSemaphore, Place) {
        let mut held = self.held.lock();
        let turns = held.entry(consumer).or_insert_with(|| Turns {
            semaphore: FairSemaphore::new(self.of_each),
            places: 0,
        });
        turns.places += 1;
        let place = Place {
            of: self.clone(),
            consumer,
        };
        (turns.semaphore.clone(), place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Entry::Occupied(mut turns) = self.of.held.lock().entry(self.consumer) {
            turns.get_mut().places -= 1;
            if turns.get().places == 0 {
                turns.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use keyward_domain::id::{ApiKeyId, MembershipId, UserId};
    use uuid::Uuid;

    use super::*;

    fn consumer(number: u128) -> MembershipId {
        MembershipId::from_uuid(Uuid::from_u128(number))
    }

    fn key(number: u128) -> Actor {
        Actor::ApiKey(ApiKeyId::from_uuid(Uuid::from_u128(number)))
    }

    fn user() -> Actor {
        Actor::User(UserId::from_uuid(Uuid::max()))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    /// Asks for a turn from each of several addresses, and returns those that are granted at once.
    fn at_once(addresses: u8, turn: &TurnRequest) -> Vec<ChangeTurn> {
        let from = |address| {
            let client = Client::At([192, 0, 2, address].into());
            client.run(turn.clone().wait(soon())).now_or_never()?.ok()
        };
        (0..addresses).filter_map(from).collect()
    }

    #[tokio::test]
    async fn one_key_at_many_addresses_leaves_a_turn() {
        let turns = KeyChangeTurns::of_store(16);
        let of_key = at_once(50, &turns.of_change(consumer(1), &key(1)));
        assert_eq!(of_key.len(), MAX_AT_ONCE - 1);
        assert_eq!(at_once(1, &turns.of_change(consumer(1), &user())).len(), 1);
    }

    #[tokio::test]
    async fn many_keys_leave_turns_to_revocations_and_other_consumers() {
        let turns = KeyChangeTurns::of_store(16);
        let of_keys: Vec<Vec<ChangeTurn>> = (0..50)
            .map(|number| at_once(1, &turns.of_change(consumer(1), &key(number))))
            .collect();
        assert_eq!(of_keys.iter().flatten().count(), MAX_AT_ONCE);
        assert_eq!(at_once(1, &turns.of_revocation(consumer(1), &user())).len(), 1);
        assert_eq!(at_once(1, &turns.of_change(consumer(2), &key(1))).len(), 1);
    }

    #[tokio::test]
    async fn keys_and_leak_reports_leave_a_turn_to_their_user() {
        let turns = KeyChangeTurns::of_store(16);
        let revocation = |actor: &Actor| turns.of_revocation(consumer(1), actor);
        let of_keys: Vec<Vec<ChangeTurn>> = (0..90)
            .map(|number| at_once(2, &revocation(&key(number))))
            .collect();
        assert_eq!(of_keys.iter().flatten().count(), MAX_AT_ONCE);
        let of_reports = at_once(180, &revocation(&Actor::Anonymous));
        assert_eq!(of_reports.len(), 1);
        assert_eq!(at_once(1, &revocation(&user())).len(), 1);
    }

    #[tokio::test]
    async fn one_consumer_leaves_a_quarter_of_the_connections() {
        for connections in 4..100 {
            let turns = KeyChangeTurns::of_store(connections);
            let requests = [
                turns.of_change(consumer(1), &user()),
                turns.of_revocation(consumer(1), &user()),
                turns.of_revocation(consumer(1), &key(1)),
                turns.of_revocation(consumer(1), &Actor::Anonymous),
            ];
            let taken: Vec<Vec<ChangeTurn>> = requests.iter().map(|turn| at_once(20, turn)).collect();
            let taken = taken.iter().flatten().count();
            assert!(taken * 4 <= connections * 3, "{taken} of {connections}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn change_without_a_turn_in_time_is_unavailable() {
        let turns = KeyChangeTurns::of_store(1);
        let turn = turns.of_change(consumer(1), &user());
        let taken = at_once(1, &turn);
        assert_eq!(taken.len(), 1);
        let late = turn.wait(soon()).await;
        assert!(matches!(late, Err(StorageError::Unavailable(_))));
    }

    #[tokio::test]
    async fn consumer_without_changes_uses_no_memory() {
        let turns = KeyChangeTurns::of_store(16);
        let taken = at_once(9, &turns.of_change(consumer(1), &user()));
        assert_eq!(turns.changes.held.lock().len(), 1);
        drop(taken);
        assert!(turns.changes.held.lock().is_empty());
    }
}
