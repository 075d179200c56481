//! Lookups that wait, to be asked together.
//!
//! A statement about eight digests takes PostgreSQL a fifth of the time of eight statements, and this process one round
//! trip instead of eight. So while some statements are under way, further lookups wait for the next one. A lookup is in
//! a statement that is sent after it was asked for, so it sees everything that was committed before.
//!
//! Clients take turns, each with one lookup, however many statements that takes. So a client waits for at most one lookup
//! of each other client. All clients of a proxy that forwards no addresses are one.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use keyward_domain::access::Credential;
use keyward_domain::ports::StorageError;
use keyward_domain::token::TokenDigest;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::client::Client;

/// How many statements are under way at most: the fewer, the more lookups share one. With a single one, all
/// would wait for a connection that is lost.
const MAX_TURNS: usize = 2;

/// How many lookups one statement answers at most.
pub(super) const MAX_TOGETHER: usize = 32;

pub(super) type Answer = Result<Option<Credential>, StorageError>;

/// The lookups of a store.
#[derive(Default)]
pub(super) struct LookupQueue(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    /// The lookups of each waiting client, in the order of arrival.
    waiting: HashMap<Client, VecDeque<Lookup>>,
    /// Those clients, each once, in the order in which they are served.
    clients: VecDeque<Client>,
    turns: usize,
}

/// A lookup that a caller waits for.
pub(super) struct Lookup {
    pub(super) digest: TokenDigest,
    answer: oneshot::Sender<Answer>,
}

/// The right to ask for lookups that wait. It ends when this is dropped.
pub(super) struct QueryTurn {
    of: Arc<LookupQueue>,
    is_over: bool,
}

impl Lookup {
    /// Answers the one who asked, if they still wait.
    pub(super) fn answer(self, answer: Answer) {
        let _ = self.answer.send(answer);
    }
}

impl LookupQueue {
    /// Adds a lookup. A caller that gets a turn MUST run the query; one that gets none is answered by another's.
    pub(super) fn add(
        self: &Arc<Self>,
        digest: TokenDigest,
    ) -> (oneshot::Receiver<Answer>, Option<QueryTurn>) {
        let (answer, answered) = oneshot::channel();
        let mut queue = self.0.lock();
        queue.add(Client::current(), Lookup { digest, answer });
        let turn = (queue.turns < MAX_TURNS).then(|| {
            queue.turns += 1;
            QueryTurn {
                of: Arc::clone(self),
                is_over: false,
            }
        });
        (answered, turn)
    }

    /// How many lookups wait to be asked for.
    pub(super) fn waiting(&self) -> usize {
        self.0.lock().waiting.values().map(VecDeque::len).sum()
    }
}

impl Queue {
    fn add(&mut self, client: Client, lookup: Lookup) {
        let of_client = self.waiting.entry(client).or_default();
        if of_client.is_empty() {
            self.clients.push_back(client);
        }
        of_client.push_back(lookup);
    }

    /// The next lookups, one of each client before another of the same.
    fn take(&mut self) -> Vec<Lookup> {
        let mut taken = Vec::new();
        while taken.len() < MAX_TOGETHER
            && let Some(client) = self.clients.pop_front()
        {
            let Entry::Occupied(mut of_client) = self.waiting.entry(client) else {
                continue;
            };
            taken.extend(of_client.get_mut().pop_front());
            if of_client.get().is_empty() {
                of_client.remove();
            } else {
                self.clients.push_back(client);
            }
        }
        taken
    }

    /// Removes the lookups whose callers no longer wait.
    fn forget_abandoned(&mut self) {
        self.waiting.retain(|_, of_client| {
            of_client.retain(|lookup| !lookup.answer.is_closed());
            !of_client.is_empty()
        });
        self.clients.retain(|client| self.waiting.contains_key(client));
    }
}

impl QueryTurn {
    /// The lookups to query now, without those whose callers no longer wait.
    pub(super) fn take(&self) -> Vec<Lookup> {
        let mut queue = self.of.0.lock();
        queue.forget_abandoned();
        queue.take()
    }

    /// Another turn, if lookups wait. Else the turn ends before another lookup can wait for it.
    pub(super) fn again(mut self) -> Option<Self> {
        let mut queue = self.of.0.lock();
        if queue.waiting.is_empty() {
            queue.turns -= 1;
            drop(queue);
            self.is_over = true;
            return None;
        }
        drop(queue);
        Some(self)
    }
}

impl Drop for QueryTurn {
    fn drop(&mut self) {
        if !self.is_over {
            self.of.0.lock().turns -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u8) -> TokenDigest {
        TokenDigest::from_bytes([number; 32])
    }

    /// The numbers of these lookups, which are answered.
    fn numbers(lookups: Vec<Lookup>) -> Vec<u8> {
        let answered = |lookup: Lookup| {
            let number = lookup.digest.as_bytes()[0];
            lookup.answer(Ok(None));
            number
        };
        lookups.into_iter().map(answered).collect()
    }

    #[test]
    fn lookups_wait_together_while_all_turns_are_taken() {
        let queue = Arc::new(LookupQueue::default());
        let mut turns = Vec::new();
        let mut waiting = Vec::new();
        for number in 0..10 {
            let (answered, turn) = queue.add(digest(number));
            waiting.push(answered);
            if let Some(turn) = turn {
                assert_eq!(numbers(turn.take()), [number], "alone, it is asked at once");
                turns.push(turn);
            }
        }
        assert_eq!(turns.len(), MAX_TURNS);
        let turn = turns.pop().unwrap().again().unwrap();
        assert_eq!(numbers(turn.take()), [2, 3, 4, 5, 6, 7, 8, 9]);
        for mut answered in waiting {
            assert!(answered.try_recv().unwrap().unwrap().is_none());
        }
        assert!(turn.again().is_none());
        assert!(queue.add(digest(10)).1.is_some(), "a turn has become free");
    }

    #[test]
    fn many_waiting_lookups_take_several_statements() {
        let queue = Arc::new(LookupQueue::default());
        let turns: Vec<QueryTurn> = (0..MAX_TURNS).filter_map(|_| queue.add(digest(0)).1).collect();
        let mut waiting: Vec<_> = (0..=MAX_TOGETHER).map(|_| queue.add(digest(1)).0).collect();
        let turn = turns.into_iter().next().unwrap();
        assert_eq!(
            turn.take().len(),
            MAX_TOGETHER,
            "the others of the first are gone"
        );
        let turn = turn.again().unwrap();
        waiting.clear();
        assert!(turn.take().is_empty(), "no caller waits any more");
    }

    #[tokio::test]
    async fn client_waits_for_one_lookup_of_each_flooding_one() {
        let queue = Arc::new(LookupQueue::default());
        let turns: Vec<QueryTurn> = (0..MAX_TURNS).filter_map(|_| queue.add(digest(0)).1).collect();
        let mut waiting = Vec::new();
        for number in 1..=40 {
            let client = Client::At([192, 0, 2, number].into());
            for _ in 0..10 {
                let added = client.run(async { queue.add(digest(number)) });
                waiting.push(added.await.0);
            }
        }
        assert_eq!(numbers(turns[0].take()), (1..=32).collect::<Vec<u8>>());
        let late = Client::At([198, 51, 100, 1].into());
        waiting.push(late.run(async { queue.add(digest(99)) }).await.0);
        let second = numbers(turns[1].take());
        assert_eq!(second[..8], (33..=40).collect::<Vec<u8>>());
        assert_eq!(second[8..], (1..=24).collect::<Vec<u8>>());
        let third = numbers(turns[0].take());
        assert_eq!(third[..9], [25, 26, 27, 28, 29, 30, 31, 32, 99]);
        assert_eq!(queue.waiting(), 401 - 3 * MAX_TOGETHER);
    }

    #[test]
    fn dropped_turn_is_free_again() {
        let queue = Arc::new(LookupQueue::default());
        for _ in 0..2 * MAX_TURNS {
            let (_answered, turn) = queue.add(digest(0));
            assert!(turn.is_some());
        }
    }
}
