//! Lookups that wait, to be asked together.
//!
//! A statement about eight digests takes PostgreSQL a fifth of the time of eight statements, and this process one round
//! trip instead of eight. So while some statements are under way, further lookups wait for the next one. A lookup is in
//! a statement that is sent after it was asked for, so it sees everything that was committed before.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyward_domain::access::Credential;
use keyward_domain::ports::StorageError;
use keyward_domain::token::TokenDigest;
use tokio::sync::oneshot;

use crate::client::Client;

/// How many statements are under way at most: the fewer, the more lookups share one. With a single one, all
/// would wait for a connection that is lost.
const MAX_TURNS: usize = 2;

/// How many lookups one statement answers at most.
pub(super) const MAX_TOGETHER: usize = 32;

/// How many lookups of each client come first, if more wait than one statement answers: others hardly wait for a
/// client that asks as fast as it can.
const FIRST_OF_EACH: usize = 4;

pub(super) type Answer = Result<Option<Credential>, StorageError>;

/// The lookups of a store.
#[derive(Default)]
pub(super) struct LookupQueue(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Lookup>,
    turns: usize,
}

/// A lookup that somebody waits for.
pub(super) struct Lookup {
    pub(super) digest: TokenDigest,
    client: Client,
    answer: oneshot::Sender<Answer>,
}

/// The right to ask for lookups that wait. It ends when this is dropped.
pub(super) struct Turn {
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
    /// Adds a lookup. Whoever gets a turn MUST ask; whoever gets none is answered by others.
    pub(super) fn add(self: &Arc<Self>, digest: TokenDigest) -> (oneshot::Receiver<Answer>, Option<Turn>) {
        let (answer, answered) = oneshot::channel();
        let mut queue = self.queue();
        let client = Client::current();
        queue.waiting.push_back(Lookup {
            digest,
            client,
            answer,
        });
        let turn = (queue.turns < MAX_TURNS).then(|| {
            queue.turns += 1;
            Turn {
                of: Arc::clone(self),
                is_over: false,
            }
        });
        (answered, turn)
    }

    /// How many lookups wait to be asked for.
    pub(super) fn waiting(&self) -> usize {
        self.queue().waiting.len()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn take(&mut self) -> Vec<Lookup> {
        if self.waiting.len() <= MAX_TOGETHER {
            return self.waiting.drain(..).collect();
        }
        let mut taken = Vec::with_capacity(MAX_TOGETHER);
        let mut left = VecDeque::with_capacity(self.waiting.len());
        let mut taken_of: HashMap<Client, usize> = HashMap::new();
        for lookup in self.waiting.drain(..) {
            let of_client = taken_of.entry(lookup.client).or_default();
            if taken.len() < MAX_TOGETHER && *of_client < FIRST_OF_EACH {
                *of_client += 1;
                taken.push(lookup);
            } else {
                left.push_back(lookup);
            }
        }
        taken.extend(left.drain(..MAX_TOGETHER - taken.len()));
        self.waiting = left;
        taken
    }
}

impl Turn {
    /// The lookups to ask for now, without those that nobody waits for any more.
    pub(super) fn take(&self) -> Vec<Lookup> {
        let mut queue = self.of.queue();
        queue.waiting.retain(|lookup| !lookup.answer.is_closed());
        queue.take()
    }

    /// Another turn, if lookups wait. Else the turn ends before another lookup can wait for it.
    pub(super) fn again(mut self) -> Option<Self> {
        let mut queue = self.of.queue();
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

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_over {
            self.of.queue().turns -= 1;
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
        let turns: Vec<Turn> = (0..MAX_TURNS).filter_map(|_| queue.add(digest(0)).1).collect();
        let mut waiting: Vec<_> = (0..=MAX_TOGETHER).map(|_| queue.add(digest(1)).0).collect();
        let turn = turns.into_iter().next().unwrap();
        assert_eq!(
            turn.take().len(),
            MAX_TOGETHER,
            "the others of the first are gone"
        );
        let turn = turn.again().unwrap();
        waiting.clear();
        assert!(turn.take().is_empty(), "nobody waits any more");
    }

    #[tokio::test]
    async fn flood_of_one_client_comes_after_lookups_of_others() {
        let queue = Arc::new(LookupQueue::default());
        let turns: Vec<Turn> = (0..MAX_TURNS).filter_map(|_| queue.add(digest(0)).1).collect();
        let mut waiting: Vec<_> = (0..100).map(|_| queue.add(digest(1)).0).collect();
        for number in 2..5 {
            let added = Client::Lookups.run(async { queue.add(digest(number)).0 });
            waiting.push(added.await);
        }
        let first = numbers(turns[0].take());
        assert_eq!(first.len(), MAX_TOGETHER);
        assert_eq!(first[..7], [1, 1, 1, 1, 2, 3, 4]);
        assert_eq!(numbers(turns[1].take()), [1; MAX_TOGETHER]);
        assert_eq!(queue.waiting(), 103 - 2 * MAX_TOGETHER);
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
