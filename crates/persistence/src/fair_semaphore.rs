//! A semaphore that divides its permits fairly among clients.
//!
//! In a plain queue, a client that asks for a hundred permits at once makes all others wait for them. Here a
//! client is served in order of its arrival, but not before [`SPACING`] grants to others that wait since its
//! own last grant. So others pass a client that asks for much, but it does not starve, even if new clients
//! arrive all the time. One client holds at most three quarters of the permits, so that another gets one even
//! while all work of the first is stalled, for example by a lock.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::Client;

/// The maximum number of grants to waiting others between two grants to one client.
const SPACING: u64 = 4;

/// Called with the duration of each wait, which ends when the caller gets a permit or stops waiting.
pub type WaitObserver = Arc<dyn Fn(Duration) + Send + Sync>;

/// Permits for clients. Clones share them.
#[derive(Clone)]
pub(crate) struct FairSemaphore(Arc<Mutex<State>>);

/// A permit, held until it is dropped.
pub(crate) struct FairPermit(Option<(FairSemaphore, Client)>);

/// A caller that waits, or has just received its permit. A caller that stops waiting leaves the queue at
/// once: during a stall, when no permit is given back, the queue would grow without bound.
struct Queued<'a> {
    semaphore: &'a FairSemaphore,
    client: Client,
    arrival: u64,
    since: Instant,
}

struct State {
    free: usize,
    per_client: usize,
    /// Clients that hold a permit or wait for one.
    clients: HashMap<Client, Share>,
    /// Clients that wait and may hold one more permit, in the order in which they are served.
    queue: BTreeSet<(QueuePosition, Client)>,
    /// The number of permits granted so far.
    grants: u64,
    /// The number of arrivals so far.
    arrivals: u64,
    observer: Option<WaitObserver>,
}

#[derive(Default)]
struct Share {
    held: usize,
    /// The number of grants before the client may be next.
    next_at: u64,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    position: QueuePosition,
    permit: oneshot::Sender<FairPermit>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePosition {
    /// The number of grants before it.
    after: u64,
    arrival: u64,
}

impl FairSemaphore {
    pub(crate) fn new(permits: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: permits,
            per_client: permits.saturating_sub((permits / 4).max(1)).max(1),
            clients: HashMap::new(),
            queue: BTreeSet::new(),
            grants: 0,
            arrivals: 0,
            observer: None,
        })))
    }

    /// Reports to this observer every wait that ends from now on. A caller that gets a permit at once does
    /// not wait.
    pub(crate) fn observe_waits(&self, observer: WaitObserver) {
        self.0.lock().observer = Some(observer);
    }

    /// The number of callers that wait for a permit.
    pub(crate) fn waiting(&self) -> usize {
        let state = self.0.lock();
        state.clients.values().map(|share| share.waiting.len()).sum()
    }

    /// Acquires a permit for the [current client](Client::current).
    pub(crate) async fn acquire(&self) -> FairPermit {
        let client = Client::current();
        let (arrival, waiting) = match self.join(client) {
            Ok(permit) => return permit,
            Err(queued) => queued,
        };
        let _queued = Queued {
            semaphore: self,
            client,
            arrival,
            since: Instant::now(),
        };
        match waiting.await {
            Ok(permit) => permit,
            // Only a caller that stops waiting leaves the queue without a permit.
            Err(_) => pending().await,
        }
    }

    /// Acquires a permit that is free, or joins the queue.
    fn join(&self, client: Client) -> Result<FairPermit, (u64, oneshot::Receiver<FairPermit>)> {
        let mut state = self.0.lock();
        if state.free > 0 && state.change(client, |share, most| share.held < most) {
            state.grant(client);
            return Ok(self.permit_for(client));
        }
        state.arrivals += 1;
        let position = QueuePosition {
            after: state.grants,
            arrival: state.arrivals,
        };
        let (permit, waiting) = oneshot::channel();
        state.change(client, |share, _| {
            share.waiting.push_back(Waiter { position, permit });
        });
        Err((position.arrival, waiting))
    }

    fn leave(&self, client: Client, arrival: u64, waited: Duration) {
        let mut state = self.0.lock();
        state.change(client, |share, _| {
            let waiting = &mut share.waiting;
            if let Ok(at) = waiting.binary_search_by_key(&arrival, |waiter| waiter.position.arrival) {
                waiting.remove(at);
            }
        });
        let observer = state.observer.clone();
        drop(state);
        if let Some(observer) = observer {
            observer(waited);
        }
    }

    fn give_back(&self, client: Client) {
        let mut state = self.0.lock();
        state.free += 1;
        state.change(client, |share, _| share.held -= 1);
        while state.free > 0
            && let Some((next, waiter)) = state.first_in_queue()
        {
            match waiter.permit.send(self.permit_for(next)) {
                Ok(()) => state.grant(next),
                // The caller no longer waits. Dropping the permit unchanged would lock the state again.
                Err(mut unwanted) => unwanted.0 = None,
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.0.lock().free
    }

    fn permit_for(&self, client: Client) -> FairPermit {
        FairPermit(Some((self.clone(), client)))
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        if let Some((semaphore, client)) = self.0.take() {
            semaphore.give_back(client);
        }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.semaphore
            .leave(self.client, self.arrival, self.since.elapsed());
    }
}

impl State {
    /// Changes a client's share and keeps its position in the queue up to date.
    fn change<T>(&mut self, client: Client, change: impl FnOnce(&mut Share, usize) -> T) -> T {
        let mut share = self.clients.remove(&client).unwrap_or_default();
        if let Some(position) = share.position(self.per_client) {
            self.queue.remove(&(position, client));
        }
        let changed = change(&mut share, self.per_client);
        if let Some(position) = share.position(self.per_client) {
            self.queue.insert((position, client));
        }
        if share.held > 0 || !share.waiting.is_empty() {
            self.clients.insert(client, share);
        }
        changed
    }

    fn grant(&mut self, client: Client) {
        self.free -= 1;
        self.grants += 1;
        let next_at = self.grants + SPACING;
        self.change(client, |share, _| {
            share.held += 1;
            share.next_at = next_at;
        });
    }

    fn first_in_queue(&mut self) -> Option<(Client, Waiter)> {
        let (_, client) = *self.queue.first()?;
        let waiter = self.change(client, |share, _| share.waiting.pop_front())?;
        Some((client, waiter))
    }
}

impl Share {
    /// The position in the queue; `None` if the client does not wait, or may hold no more.
    fn position(&self, most: usize) -> Option<QueuePosition> {
        let first = self.waiting.front().filter(|_| self.held < most)?.position;
        Some(QueuePosition {
            after: first.after.max(self.next_at),
            ..first
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::pin::Pin;

    use futures_util::FutureExt as _;
    use futures_util::future::poll_immediate;

    use super::*;
    use crate::client::on_behalf_of;

    type Waiting = Pin<Box<dyn Future<Output = FairPermit>>>;

    /// Asks for a permit; one that is free is acquired at once.
    fn ask(semaphore: &FairSemaphore, client: u8) -> Waiting {
        let (semaphore, address) = (
            semaphore.clone(),
            IpAddr::from(Ipv4Addr::from([192, 0, 2, client])),
        );
        let mut asking = on_behalf_of(Some(address), async move { semaphore.acquire().await }).boxed_local();
        match poll_immediate(&mut asking).now_or_never().flatten() {
            Some(permit) => Box::pin(async { permit }),
            None => asking,
        }
    }

    fn acquired(waiting: &mut Waiting) -> Option<FairPermit> {
        poll_immediate(waiting).now_or_never().flatten()
    }

    #[test]
    fn one_clients_waiters_do_not_delay_another_client() {
        let semaphore = FairSemaphore::new(4);
        let mut held: Vec<_> = [1, 1, 2, 2]
            .map(|client| acquired(&mut ask(&semaphore, client)).unwrap())
            .into();
        let mut many: Vec<_> = (0..100).map(|number| ask(&semaphore, 1 + number % 2)).collect();
        let mut other = ask(&semaphore, 3);
        assert!(acquired(&mut other).is_none());
        held.pop();
        assert!(acquired(&mut other).is_some());
        assert!(acquired(&mut many[0]).is_some());
    }

    #[test]
    fn caller_that_stops_waiting_leaves_the_queue() {
        let semaphore = FairSemaphore::new(1);
        let permit = acquired(&mut ask(&semaphore, 1)).unwrap();
        let waiting: Vec<_> = (0..100).map(|number| ask(&semaphore, number % 50)).collect();
        drop(waiting);
        assert!(semaphore.0.lock().queue.is_empty());
        assert_eq!(
            semaphore.0.lock().clients.len(),
            1,
            "those that wait or hold a permit"
        );
        let mut next = ask(&semaphore, 2);
        drop(permit);
        assert!(acquired(&mut next).is_some());
    }

    #[test]
    fn observer_is_called_for_waits_but_not_for_immediate_permits() {
        let semaphore = FairSemaphore::new(1);
        let waits = Arc::new(Mutex::new(0));
        let counting = Arc::clone(&waits);
        semaphore.observe_waits(Arc::new(move |_| *counting.lock() += 1));
        let permit = acquired(&mut ask(&semaphore, 1)).unwrap();
        assert_eq!(*waits.lock(), 0);
        let mut served = ask(&semaphore, 2);
        drop(ask(&semaphore, 3));
        assert_eq!(*waits.lock(), 1, "a caller that stops waiting has waited");
        drop(permit);
        assert!(acquired(&mut served).is_some());
        assert_eq!(*waits.lock(), 2);
    }

    #[test]
    fn clients_take_turns_for_the_only_permit() {
        let semaphore = FairSemaphore::new(1);
        let mut permit = acquired(&mut ask(&semaphore, 1));
        let mut waiting: Vec<_> = [1, 1, 1, 2, 2, 3]
            .into_iter()
            .map(|client| (client, ask(&semaphore, client)))
            .collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(permit.take());
            let next = waiting.iter_mut().position(|(_, waiting)| {
                permit = acquired(waiting);
                permit.is_some()
            });
            order.push(waiting.remove(next.unwrap()).0);
        }
        assert_eq!(order, [2, 3, 1, 2, 1, 1]);
    }

    #[test]
    fn new_clients_do_not_starve_a_known_one() {
        let semaphore = FairSemaphore::new(1);
        let mut permit = acquired(&mut ask(&semaphore, 0));
        let mut known = ask(&semaphore, 0);
        let mut others: VecDeque<_> = (1..9).map(|client| ask(&semaphore, client)).collect();
        for client in 9..100 {
            drop(permit.take());
            if acquired(&mut known).is_some() {
                return;
            }
            permit = acquired(&mut others.pop_front().unwrap());
            others.push_back(ask(&semaphore, client));
        }
        panic!("the first client is never served");
    }

    #[test]
    fn client_holds_at_most_three_quarters_of_the_permits() {
        let semaphore = FairSemaphore::new(4);
        let mut held: Vec<_> = (0..3)
            .map(|_| acquired(&mut ask(&semaphore, 1)).unwrap())
            .collect();
        let mut fourth = ask(&semaphore, 1);
        assert!(acquired(&mut fourth).is_none());
        drop(acquired(&mut ask(&semaphore, 2)).unwrap());
        assert!(acquired(&mut fourth).is_none());
        held.pop();
        assert!(acquired(&mut fourth).is_some());
    }

    #[test]
    fn permit_skips_callers_that_stopped_waiting() {
        let semaphore = FairSemaphore::new(1);
        let permit = acquired(&mut ask(&semaphore, 1));
        let (before, mut granted, mut after) = (ask(&semaphore, 1), ask(&semaphore, 2), ask(&semaphore, 3));
        drop(before);
        drop(permit);
        // Granted, but not yet taken.
        drop(granted);
        granted = ask(&semaphore, 2);
        assert!(acquired(&mut after).is_some());
        assert!(acquired(&mut granted).is_some());
        let state = semaphore.0.lock();
        assert_eq!((state.free, state.clients.len(), state.queue.len()), (1, 0, 0));
    }
}
