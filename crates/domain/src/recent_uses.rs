//! Recent uses of keys, kept in memory until they are written to the store.
//!
//! A request only records its use in memory. The server takes the due uses every few seconds, writes them
//! with [`LastUses`](crate::ports::LastUses), and puts back those that could not be written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::iter::repeat_with;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::api_key::LastUse;
use crate::id::ApiKeyId;
use crate::ports::KeyUse;

/// The last use of each key that was used recently, in one process.
///
/// It holds one entry for each key and at most as many as its capacity. When it is full, the use of a key
/// that it does not hold is passed over, and counted: to make room by forgetting another key would lose that
/// key's use instead, or let it be written twice a minute. Entries whose use is written leave after
/// [`RecentUses::WRITE_INTERVAL`], and make room.
#[derive(Debug)]
pub struct RecentUses {
    capacity: usize,
    /// The number of entries in all shards.
    held: AtomicUsize,
    passed_over: AtomicU64,
    shards: Box<[Mutex<Shard>]>,
}

/// A part of the entries, with a lock of its own: a request rarely waits for one that uses another key, and
/// only briefly while all entries are looked through.
type Shard = HashMap<ApiKeyId, Noted>;

/// The uses of one key. At least one of the two is set.
#[derive(Debug)]
struct Noted {
    unwritten: Option<LastUse>,
    written_at: Option<DateTime<Utc>>,
}

impl RecentUses {
    /// The minimum time between two writes of the same key's last use.
    pub const WRITE_INTERVAL: TimeDelta = TimeDelta::minutes(1);

    /// More than there are threads on most machines.
    const SHARDS: usize = 64;

    /// Holds the uses of at most that many keys: some 100 bytes for each.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            held: AtomicUsize::new(0),
            passed_over: AtomicU64::new(0),
            shards: repeat_with(Mutex::default).take(Self::SHARDS).collect(),
        }
    }

    /// Notes that a key was used. Of the uses of one key, the latest stays.
    pub fn note(&self, key: ApiKeyId, last: LastUse) {
        match self.shard_of(key).entry(key) {
            Entry::Occupied(noted) => noted.into_mut().merge(last),
            Entry::Vacant(free) => {
                if self.held.fetch_add(1, Ordering::Relaxed) < self.capacity {
                    free.insert(Noted {
                        unwritten: Some(last),
                        written_at: None,
                    });
                } else {
                    self.held.fetch_sub(1, Ordering::Relaxed);
                    self.passed_over.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Takes all uses that are due to be written: those of keys that were not written recently. Uses that could
    /// not be written go back by [`RecentUses::put_back`]. It looks at every key, so it must not be called for
    /// each request.
    #[must_use]
    pub fn take_due(&self, now: DateTime<Utc>) -> Vec<KeyUse> {
        let mut due = Vec::new();
        for shard in &self.shards {
            let mut shard = locked(shard);
            let held = shard.len();
            shard.retain(|key, noted| {
                if noted.was_written_recently(now) {
                    return true;
                }
                let taken = noted.take(*key, now);
                due.extend(taken);
                taken.is_some()
            });
            self.held.fetch_sub(held - shard.len(), Ordering::Relaxed);
        }
        due
    }

    /// Takes all uses, also of keys that rest: the process is about to end.
    #[must_use]
    pub fn take_last(&self, now: DateTime<Utc>) -> Vec<KeyUse> {
        let take_all = |shard: &Mutex<Shard>| -> Vec<KeyUse> {
            let mut shard = locked(shard);
            shard
                .iter_mut()
                .filter_map(|(key, noted)| noted.take(*key, now))
                .collect()
        };
        self.shards.iter().flat_map(take_all).collect()
    }

    /// Puts back uses that could not be written. They are due at once, and merge with those noted meanwhile.
    pub fn put_back(&self, uses: &[KeyUse]) {
        for KeyUse { key, last } in uses {
            // Uses that are being written keep their place, so nothing is lost here, and the bound holds.
            if let Some(noted) = self.shard_of(*key).get_mut(key) {
                noted.written_at = None;
                noted.merge(*last);
            }
        }
    }

    /// How many uses wait to be written. Those that were taken are not among them.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        let unwritten = |shard: &Mutex<Shard>| {
            let shard = locked(shard);
            shard.values().filter(|noted| noted.unwritten.is_some()).count()
        };
        self.shards.iter().map(unwritten).sum()
    }

    /// The number of uses dropped for lack of capacity since the last call.
    #[must_use]
    pub fn take_dropped(&self) -> u64 {
        self.passed_over.swap(0, Ordering::Relaxed)
    }

    /// The last digits of an identifier are random.
    fn shard_of(&self, key: ApiKeyId) -> MutexGuard<'_, Shard> {
        let [.., last] = *key.as_uuid().as_bytes();
        locked(&self.shards[usize::from(last) % Self::SHARDS])
    }
}

/// Critical sections do not panic, so the protected data is consistent.
fn locked(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Noted {
    /// Takes the use of this key, if it has one that is not written.
    fn take(&mut self, key: ApiKeyId, now: DateTime<Utc>) -> Option<KeyUse> {
        let last = self.unwritten.take()?;
        self.written_at = Some(now);
        Some(KeyUse { key, last })
    }

    fn merge(&mut self, last: LastUse) {
        if self.unwritten.is_none_or(|noted| noted.at < last.at) {
            self.unwritten = Some(last);
        }
    }

    /// Whether it was written too recently to be written again. If the clock was set back, it may be written.
    fn was_written_recently(&self, now: DateTime<Utc>) -> bool {
        self.written_at
            .is_some_and(|written_at| written_at <= now && now - written_at < RecentUses::WRITE_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::thread;

    use chrono::{DateTime, TimeDelta, Utc};

    use super::RecentUses;
    use crate::api_key::LastUse;
    use crate::clock::Clock;
    use crate::id::ApiKeyId;
    use crate::ports::KeyUse;
    use crate::testing::Builder;

    fn scene() -> (RecentUses, Builder, DateTime<Utc>) {
        let make = Builder::new(1);
        let now = make.clock.now();
        (RecentUses::new(2), make, now)
    }

    fn from(last: u8) -> Option<IpAddr> {
        Some([203, 0, 113, last].into())
    }

    fn note_all(uses: &RecentUses, keys: &[ApiKeyId], at: DateTime<Utc>) {
        for key in keys {
            uses.note(*key, LastUse { at, from: None });
        }
    }

    fn seconds(count: i64) -> TimeDelta {
        TimeDelta::seconds(count)
    }

    #[test]
    fn thousand_uses_within_a_minute_are_one_write() {
        let (uses, make, now) = scene();
        let key: ApiKeyId = make.ids.next();
        let mut written = Vec::new();
        for number in 0..1_000 {
            let at = now + TimeDelta::milliseconds(59 * number);
            uses.note(key, LastUse { at, from: from(7) });
            written.extend(uses.take_due(at));
        }
        let first = LastUse {
            at: now,
            from: from(7),
        };
        assert_eq!(written, [KeyUse { key, last: first }]);

        let last = LastUse {
            at: now + TimeDelta::milliseconds(59 * 999),
            from: from(7),
        };
        assert_eq!(uses.take_due(now + RecentUses::WRITE_INTERVAL - seconds(1)), []);
        assert_eq!(
            uses.take_due(now + RecentUses::WRITE_INTERVAL),
            [KeyUse { key, last }]
        );
    }

    #[test]
    fn latest_use_is_kept_in_any_arrival_order() {
        let (uses, make, now) = scene();
        let key: ApiKeyId = make.ids.next();
        for (offset, address) in [(1, 1), (3, 3), (2, 2)] {
            let at = now + seconds(offset);
            uses.note(
                key,
                LastUse {
                    at,
                    from: from(address),
                },
            );
        }
        let last = LastUse {
            at: now + seconds(3),
            from: from(3),
        };
        assert_eq!(uses.take_due(now), [KeyUse { key, last }]);
    }

    #[test]
    fn unwritten_use_is_due_immediately_and_merged_with_later_uses() {
        let (uses, make, now) = scene();
        let (idle, busy): (ApiKeyId, ApiKeyId) = (make.ids.next(), make.ids.next());
        let before = LastUse {
            at: now,
            from: from(1),
        };
        for key in [idle, busy] {
            uses.note(key, before);
        }
        let taken = uses.take_due(now);
        assert_eq!(taken.len(), 2);
        let meanwhile = LastUse {
            at: now + seconds(1),
            from: None,
        };
        uses.note(busy, meanwhile);
        uses.put_back(&taken);

        let mut again = uses.take_due(now + seconds(1));
        again.sort_by_key(|written| written.key);
        let expected = [
            KeyUse {
                key: idle,
                last: before,
            },
            KeyUse {
                key: busy,
                last: meanwhile,
            },
        ];
        assert_eq!(again, expected);
    }

    #[test]
    fn full_collector_keeps_its_keys_and_counts_dropped_uses() {
        let (uses, make, now) = scene();
        let [first, second, third]: [ApiKeyId; 3] = [make.ids.next(), make.ids.next(), make.ids.next()];
        let last = LastUse { at: now, from: None };
        for key in [first, second, third, third, first] {
            uses.note(key, last);
        }
        let kept = |uses: &RecentUses, now| {
            let mut keys: Vec<ApiKeyId> = uses.take_due(now).iter().map(|taken| taken.key).collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!(kept(&uses, now), [first, second]);
        assert_eq!((uses.take_dropped(), uses.take_dropped()), (2, 0));

        // Keys that rest keep their places, lest they be written again within the minute.
        uses.note(third, last);
        assert_eq!(kept(&uses, now + seconds(59)), []);
        assert_eq!(kept(&uses, now + seconds(60)), []);
        uses.note(third, last);
        assert_eq!(kept(&uses, now + seconds(60)), [third]);
        assert_eq!(uses.take_dropped(), 1);
    }

    #[test]
    fn collector_holds_its_capacity_when_threads_fill_it_together() {
        let make = Builder::new(1);
        let at = make.clock.now();
        let uses = RecentUses::new(3_000);
        let keys: Vec<ApiKeyId> = (0..4_000).map(|_| make.ids.next()).collect();
        thread::scope(|scope| {
            for keys in keys.chunks(1_000) {
                scope.spawn(|| note_all(&uses, keys, at));
            }
        });
        assert_eq!((uses.unwritten(), uses.take_dropped()), (3_000, 1_000));
        assert_eq!(uses.take_due(at).len(), 3_000);

        // Once they have rested, all of them make room.
        let later = at + RecentUses::WRITE_INTERVAL;
        assert_eq!(uses.take_due(later), []);
        note_all(&uses, &keys, later);
        assert_eq!((uses.unwritten(), uses.take_dropped()), (3_000, 1_000));
    }

    #[test]
    fn final_drain_includes_keys_within_their_write_interval() {
        let (uses, make, now) = scene();
        let key: ApiKeyId = make.ids.next();
        uses.note(key, LastUse { at: now, from: None });
        assert_eq!(uses.take_due(now).len(), 1);
        let last = LastUse {
            at: now + seconds(1),
            from: from(9),
        };
        uses.note(key, last);
        assert_eq!(uses.take_due(now + seconds(1)), []);
        assert_eq!(uses.unwritten(), 1);
        assert_eq!(uses.take_last(now + seconds(1)), [KeyUse { key, last }]);
        assert_eq!(uses.unwritten(), 0);
        assert_eq!(uses.take_last(now + seconds(1)), []);
    }

    #[test]
    fn clock_set_back_stops_no_writes() {
        let (uses, make, now) = scene();
        let key: ApiKeyId = make.ids.next();
        uses.note(key, LastUse { at: now, from: None });
        assert_eq!(uses.take_due(now).len(), 1);
        let earlier = now - TimeDelta::hours(1);
        uses.note(
            key,
            LastUse {
                at: earlier,
                from: None,
            },
        );
        assert_eq!(uses.take_due(earlier).len(), 1);
    }
}
