//! Verifications on every server at a steady rate, and revocations on each in turn, independent of the
//! answers.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use keyward_tests::history::Outcome;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

use crate::clients::Clients;

/// On each server, 200 each second.
const VERIFY_EVERY: Duration = Duration::from_millis(5);

/// How many verifications may wait for one server at once.
const WAITING: usize = 300;

/// How many of the keys that were revoked last are verified.
const NEIGHBOURS: usize = 12;

/// The running clients.
pub(crate) struct Traffic {
    clients: Arc<Clients>,
    revoked: Arc<AtomicUsize>,
    end: watch::Sender<bool>,
    going: Vec<JoinHandle<()>>,
}

impl Traffic {
    /// Begins to verify on every server, and to revoke keys at this interval; this many of the next ones are
    /// verified before.
    pub(crate) fn begin(clients: &Arc<Clients>, revoke_every: Duration, ahead: usize) -> Self {
        let revoked = Arc::new(AtomicUsize::new(0));
        let (end, ended) = watch::channel(false);
        let mut going: Vec<_> = (0..clients.servers())
            .map(|server| {
                tokio::spawn(verify(
                    Arc::clone(clients),
                    server,
                    ahead,
                    Arc::clone(&revoked),
                    ended.clone(),
                ))
            })
            .collect();
        going.push(tokio::spawn(revoke(
            Arc::clone(clients),
            revoke_every,
            Arc::clone(&revoked),
            ended,
        )));
        Self {
            clients: Arc::clone(clients),
            revoked,
            end,
            going,
        }
    }

    /// Ends, waits for every answer, and then asks every server for every key: first as the revocations left
    /// them, then once those whose outcome is unknown were revoked again. Returns the number of keys with
    /// requests to revoke them, and the keys about which servers disagreed.
    pub(crate) async fn finish(self) -> (usize, Vec<usize>) {
        // Tasks that no longer listen have ended.
        let _ = self.end.send(true);
        for going in self.going {
            going.await.expect("clients go on until the end");
        }
        let keys = self.clients.keys.to_revoke();
        let revoked = keys.start..keys.start + self.revoked.load(Ordering::SeqCst);
        let before = verify_everywhere(&self.clients, revoked.clone()).await;
        let mut disagreed = Vec::new();
        for (key, outcomes) in revoked.clone().zip(before) {
            let first = outcomes[0];
            if outcomes.iter().any(|outcome| *outcome != first) {
                disagreed.push(key);
            }
            if first != Outcome::Refused {
                self.clients.revoke(0, key).await;
            }
        }
        verify_everywhere(&self.clients, revoked.clone()).await;
        verify_everywhere(&self.clients, self.clients.keys.stable()).await;
        (revoked.len(), disagreed)
    }
}

/// The answers of all servers for each key, in the order of the keys.
async fn verify_everywhere(clients: &Arc<Clients>, keys: Range<usize>) -> Vec<Vec<Outcome>> {
    let of_each_server = (0..clients.servers()).map(|server| {
        let (clients, keys) = (Arc::clone(clients), keys.clone());
        async move {
            let mut outcomes = Vec::new();
            for key in keys {
                outcomes.push(clients.verify(server, key).await);
            }
            outcomes
        }
    });
    let of_each_server = join_all(of_each_server).await;
    let of_key = |number: usize| of_each_server.iter().map(|outcomes| outcomes[number]).collect();
    (0..keys.len()).map(of_key).collect()
}

/// Half of the verifications are of keys that stay valid, half of those that are revoked about now.
async fn verify(
    clients: Arc<Clients>,
    server: usize,
    ahead: usize,
    revoked: Arc<AtomicUsize>,
    ended: watch::Receiver<bool>,
) {
    let mut ticks = interval(VERIFY_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let places = Arc::new(Semaphore::new(WAITING));
    let mut asked = JoinSet::new();
    let mut number = server;
    while !*ended.borrow() {
        ticks.tick().await;
        while asked.try_join_next().is_some() {}
        number += 1;
        let (stable, to_revoke) = (clients.keys.stable(), clients.keys.to_revoke());
        let key = if number.is_multiple_of(2) {
            stable.start + number / 2 % stable.len()
        } else {
            let first = revoked.load(Ordering::SeqCst).saturating_sub(NEIGHBOURS);
            to_revoke.start + (first + number / 2 % (NEIGHBOURS + ahead)).min(to_revoke.len() - 1)
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let clients = Arc::clone(&clients);
        asked.spawn(async move {
            clients.verify(server, key).await;
            drop(place);
        });
    }
    asked.join_all().await;
}

async fn revoke(
    clients: Arc<Clients>,
    every: Duration,
    revoked: Arc<AtomicUsize>,
    ended: watch::Receiver<bool>,
) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = JoinSet::new();
    for (number, key) in clients.keys.to_revoke().enumerate() {
        ticks.tick().await;
        if *ended.borrow() {
            break;
        }
        revoked.store(number + 1, Ordering::SeqCst);
        let clients = Arc::clone(&clients);
        asked.spawn(async move { clients.revoke(number % clients.servers(), key).await });
    }
    asked.join_all().await;
}
