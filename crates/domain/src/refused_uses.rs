//! Refused uses: requests with dead keys, kept in memory until they are written to the audit log.
//!
//! A request adds to memory and waits for no storage. The server calls [`RefusedUseReports::write`] every few
//! seconds. Each key is reported once an hour, by all servers together. Many dead keys cannot fill the log,
//! either: of one consumer, 100 uses at once and then one every 36 seconds are reported; of one organization,
//! ten times as many, and once an hour that there were more.

mod reports;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use crate::credential::Credential;
use crate::id::{ApiKeyId, MembershipId, OrganizationId};
use crate::sign_in::throttle::EventLimit;

pub use reports::RefusedUseReports;

/// A request with a key that is revoked, or whose member has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedUse {
    /// The key that no longer works.
    pub key: ApiKeyId,
    /// The holder of the key; the membership may have ended.
    pub consumer: MembershipId,
    /// The organization in whose audit log the use is reported.
    pub organization: OrganizationId,
    /// When the request came, in UTC.
    pub at: DateTime<Utc>,
    /// The client's address, if it is known.
    pub from: Option<IpAddr>,
}

impl RefusedUse {
    /// The use of a credential that is not accepted.
    #[must_use]
    pub const fn of(credential: &Credential, at: DateTime<Utc>, from: Option<IpAddr>) -> Self {
        Self {
            key: credential.api_key.id,
            consumer: credential.consumer.id,
            organization: credential.organization.id,
            at,
            from,
        }
    }
}

/// The refused uses of one process that are not reported yet, and which need no report for a while.
///
/// Its size is bounded. For each consumer and each organization, it keeps at most as many uses as may be reported at
/// once, so that none takes the place of all others.
#[derive(Debug)]
pub struct RefusedUses {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The first use of each key since its last report.
    waiting: HashMap<ApiKeyId, RefusedUse>,
    /// Until when each key needs no report.
    reported: HashMap<ApiKeyId, DateTime<Utc>>,
    consumers: HashMap<MembershipId, Share>,
    organizations: HashMap<OrganizationId, OfOrganization>,
    /// How many were taken, and are not known to be written.
    being_written: usize,
    passed_over: u64,
}

/// The uses of the keys of one consumer or one organization.
#[derive(Debug, Default)]
struct Share {
    waiting: usize,
    /// Until when no more of them are reported one by one.
    full_until: Option<DateTime<Utc>>,
}

impl Share {
    fn has_room(&self, most: usize, now: DateTime<Utc>) -> bool {
        self.waiting < most && !lasts(self.full_until, now)
    }

    fn matters(&self, now: DateTime<Utc>) -> bool {
        self.waiting > 0 || lasts(self.full_until, now)
    }
}

#[derive(Debug, Default)]
struct OfOrganization {
    share: Share,
    /// One of the uses that are not reported one by one.
    more: Option<RefusedUse>,
    /// Until when that there are more needs no report.
    more_reported_until: Option<DateTime<Utc>>,
}

impl OfOrganization {
    fn note_more(&mut self, used: RefusedUse) {
        if !lasts(self.more_reported_until, used.at) {
            self.more.get_or_insert(used);
        }
    }

    fn matters(&self, now: DateTime<Utc>) -> bool {
        self.share.matters(now) || self.more.is_some() || lasts(self.more_reported_until, now)
    }
}

/// The entry of this key, which is added if it may be.
fn entry_of<K: Eq + Hash, V: Default>(entries: &mut HashMap<K, V>, key: K, may_add: bool) -> Option<&mut V> {
    match entries.entry(key) {
        Entry::Occupied(known) => Some(known.into_mut()),
        Entry::Vacant(new) => may_add.then(|| new.insert(V::default())),
    }
}

/// Whether a rest until then is not over. A longer one than there is began by a clock that was ahead.
fn lasts(until: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    until.is_some_and(|until| now < until && until - now <= EventLimit::ONCE_AN_HOUR)
}

/// Uses that were taken to be written: when it is dropped, those that are left wait again.
pub(crate) struct Taken<'a> {
    from: &'a RefusedUses,
    uses: Vec<RefusedUse>,
}

impl Taken<'_> {
    /// The next one to be written.
    pub(crate) fn next(&self) -> Option<RefusedUse> {
        self.uses.last().copied()
    }

    /// The next one needs no more writing.
    pub(crate) fn mark_written(&mut self) {
        self.uses.pop();
        self.from.state().being_written -= 1;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.from.state().being_written -= self.uses.len();
        for used in &self.uses {
            self.from.note(*used);
        }
    }
}

impl RefusedUses {
    /// The maximum number of keys of one consumer that wait to be reported.
    const PER_CONSUMER: usize = 100;

    /// The same of one organization.
    const PER_ORGANIZATION: usize = 1_000;

    /// Keeps at most this many keys, consumers and organizations, some 100 bytes for each.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            state: Mutex::default(),
        }
    }

    /// Notes a use, unless the key was reported within the hour. Of the uses of one key, the first stays.
    pub fn note(&self, used: RefusedUse) {
        let mut state = self.state();
        let reported_until = state.reported.get(&used.key).copied();
        if lasts(reported_until, used.at) || state.waiting.contains_key(&used.key) {
            return;
        }
        let State {
            waiting,
            consumers,
            organizations,
            passed_over,
            ..
        } = &mut *state;
        let is_full = waiting.len() >= self.capacity;
        let may_add = |known: usize| !is_full && known < self.capacity;
        let may_add_organization = may_add(organizations.len());
        let Some(organization) = entry_of(organizations, used.organization, may_add_organization) else {
            *passed_over += 1;
            return;
        };
        // Before its consumer is added, so that one organization does not take the places of all consumers.
        if !organization.share.has_room(Self::PER_ORGANIZATION, used.at) {
            organization.note_more(used);
            return;
        }
        let may_add_consumer = may_add(consumers.len());
        let Some(consumer) = entry_of(consumers, used.consumer, may_add_consumer) else {
            *passed_over += 1;
            return;
        };
        if !consumer.has_room(Self::PER_CONSUMER, used.at) {
            organization.note_more(used);
        } else if is_full {
            *passed_over += 1;
        } else {
            organization.share.waiting += 1;
            consumer.waiting += 1;
            waiting.insert(used.key, used);
        }
    }

    /// Takes the uses to report now, of at most this many keys.
    pub(crate) fn take(&self, now: DateTime<Utc>, most: usize) -> Taken<'_> {
        let mut state = self.state();
        state.reported.retain(|_, until| lasts(Some(*until), now));
        let keys: Vec<ApiKeyId> = state.waiting.keys().take(most).copied().collect();
        let uses: Vec<RefusedUse> = keys.iter().filter_map(|key| state.waiting.remove(key)).collect();
        for used in &uses {
            if let Some(consumer) = state.consumers.get_mut(&used.consumer) {
                consumer.waiting -= 1;
            }
            if let Some(organization) = state.organizations.get_mut(&used.organization) {
                organization.share.waiting -= 1;
            }
        }
        state.consumers.retain(|_, consumer| consumer.matters(now));
        state
            .organizations
            .retain(|_, organization| organization.matters(now));
        state.being_written += uses.len();
        Taken { from: self, uses }
    }

    /// Takes one use for each organization of which there were more than are reported one by one.
    pub(crate) fn take_more(&self) -> Taken<'_> {
        let mut state = self.state();
        let organizations = state.organizations.values_mut();
        let uses: Vec<RefusedUse> = organizations
            .filter_map(|organization| organization.more.take())
            .collect();
        state.being_written += uses.len();
        Taken { from: self, uses }
    }

    /// The key needs no report until then: it has one, by this process or another.
    pub(crate) fn mark_reported(&self, key: ApiKeyId, until: DateTime<Utc>) {
        let mut state = self.state();
        // Without the entry, the database is asked again, and gives the same answer.
        if state.reported.len() < self.capacity {
            state.reported.insert(key, until);
        }
    }

    /// Until then, uses of the consumer's keys, such as this one, are reported only as a summary.
    pub(crate) fn mark_consumer_full(&self, used: RefusedUse, until: DateTime<Utc>) {
        let mut state = self.state();
        state.consumers.entry(used.consumer).or_default().full_until = Some(until);
        let organization = state.organizations.entry(used.organization).or_default();
        organization.note_more(used);
    }

    /// The same for all of the organization's keys.
    pub(crate) fn mark_organization_full(&self, used: RefusedUse, until: DateTime<Utc>) {
        let mut state = self.state();
        let organization = state.organizations.entry(used.organization).or_default();
        organization.share.full_until = Some(until);
        organization.note_more(used);
    }

    /// Until then, it is not reported again that there are more.
    pub(crate) fn mark_more_reported(&self, id: OrganizationId, until: DateTime<Utc>) {
        let mut state = self.state();
        state.organizations.entry(id).or_default().more_reported_until = Some(until);
    }

    /// How many reports are not known to be written: those that wait, and those that were taken.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        let state = self.state();
        let organizations = state.organizations.values();
        let more = organizations.filter(|organization| organization.more.is_some());
        state.waiting.len() + more.count() + state.being_written
    }

    /// The number of uses dropped for lack of capacity since the last call.
    #[must_use]
    pub fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.state().passed_over)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Critical sections do not panic, so the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
