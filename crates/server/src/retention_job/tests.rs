use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::MembershipId;
use keyward_domain::retention::SurplusKeys;
use keyward_domain::retention::ports::{RetentionError, RetentionStore};
use keyward_domain::retention::{ClockDoubt, RetentionPeriods};
use keyward_domain::sources::Sources;
use tokio::time::{Instant, sleep};

use super::*;
use crate::clock::SystemClock;
use crate::logging::tests::Lines;
use crate::purge::MAX_SMALL_BATCHES;
use crate::random::OsRandom;

/// A database with this many expired records.
#[derive(Default)]
struct Cellar(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    dead_keys: u32,
    invitations: u32,
    sessions: u32,
    /// How many surplus keys members have; none of those of a member with `None` can be removed.
    surplus_keys: BTreeMap<MembershipId, Option<u32>>,
    /// The most keys of a batch, if that is fewer than may be.
    keys_at_once: Option<u32>,
    /// How long a batch of keys takes.
    batch_takes: Duration,
    keys_are_stuck: bool,
    /// Whether the next run panics.
    panics: bool,
    /// Batches of more keys than this take too long.
    manageable: Option<u32>,
    doubt: Option<ClockDoubt>,
    events_may_go: bool,
    /// When batches of keys were begun and done.
    batches: Vec<(Instant, Instant)>,
    removals_of_events: u32,
}

impl Cellar {
    fn change(&self, change: impl FnOnce(&mut Contents)) {
        change(&mut self.0.lock().unwrap());
    }

    fn look<T>(&self, look: impl FnOnce(&Contents) -> T) -> T {
        look(&self.0.lock().unwrap())
    }
}

fn take(things: &mut u32, at_most: u32) -> u32 {
    let taken = at_most.min(*things);
    *things -= taken;
    taken
}

#[async_trait]
impl RetentionStore for Cellar {
    async fn check_clock(&self, _: DateTime<Utc>, _: bool) -> Result<Option<ClockDoubt>, StorageError> {
        let mut panics = false;
        self.change(|contents| panics = mem::take(&mut contents.panics));
        assert!(!panics, "a defect");
        Ok(self.look(|contents| contents.doubt))
    }

    async fn remove_dead_keys(&self, _: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        let begun = Instant::now();
        sleep(self.look(|contents| contents.batch_takes)).await;
        let mut contents = self.0.lock().unwrap();
        contents.batches.push((begun, Instant::now()));
        if contents.keys_are_stuck || contents.manageable.is_some_and(|most| at_most > most) {
            return Err(StorageError::Unavailable("stuck".into()));
        }
        let at_most = contents.keys_at_once.unwrap_or(at_most);
        Ok(take(&mut contents.dead_keys, at_most))
    }

    async fn next_with_surplus_keys(
        &self,
        after: Option<MembershipId>,
        _: u32,
    ) -> Result<Option<MembershipId>, StorageError> {
        let next = |contents: &Contents| {
            let mut members = contents.surplus_keys.keys();
            members.find(|member| Some(**member) > after).copied()
        };
        Ok(self.look(next))
    }

    async fn remove_surplus_keys(&self, surplus: SurplusKeys, at_most: u32) -> Result<u32, StorageError> {
        match self.0.lock().unwrap().surplus_keys.get_mut(&surplus.consumer) {
            Some(Some(keys)) => Ok(take(keys, at_most)),
            _ => Err(StorageError::Unavailable("stuck".into())),
        }
    }

    async fn remove_ended_invitations(&self, _: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        Ok(take(&mut self.0.lock().unwrap().invitations, at_most))
    }

    async fn remove_expired_sessions(&self, _: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        Ok(take(&mut self.0.lock().unwrap().sessions, at_most))
    }

    async fn forget_idempotency_keys(&self, _: DateTime<Utc>, _: u32) -> Result<u32, StorageError> {
        Ok(0)
    }

    async fn remove_empty_throttle_buckets(&self, _: DateTime<Utc>, _: u32) -> Result<u32, StorageError> {
        Ok(0)
    }

    async fn remove_audit_events(
        &self,
        _: DateTime<Utc>,
        _: u32,
        _: Option<AuditEvent>,
    ) -> Result<u32, RetentionError> {
        let mut contents = self.0.lock().unwrap();
        contents.removals_of_events += 1;
        if contents.events_may_go {
            Ok(0)
        } else {
            Err(RetentionError::NotAllowed)
        }
    }
}

fn start(cellar: &Arc<Cellar>) -> RunningJob {
    let sources = Sources::new(Arc::new(SystemClock), Arc::new(OsRandom));
    let periods = RetentionPeriods::default()
        .with_audit_events(TimeDelta::days(365))
        .unwrap();
    let store = Arc::clone(cellar) as Arc<dyn RetentionStore>;
    RetentionJob::new(Retention::new(store, sources, periods)).start()
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn retention_runs_at_start_and_every_hour() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.events_may_go = true;
        (contents.dead_keys, contents.invitations, contents.sessions) = (1_200, 1, 501);
    });
    let (log, _kept) = Lines::of_this_thread();
    let job = start(&cellar);
    sleep(MINUTE).await;
    let left = || cellar.look(|contents| [contents.dead_keys, contents.invitations, contents.sessions]);
    assert_eq!(left(), [0, 0, 0]);
    let lines = log.take();
    let expected = [
        ("dead keys", 1_200),
        ("ended invitations", 1),
        ("expired sessions", 501),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, (kind, removed)) in lines.iter().zip(expected) {
        let begin = format!(
            "INFO keyward::retention_job: removed expired records kind=\"{kind}\" removed={removed} over_before=\"20"
        );
        assert!(line.starts_with(&begin), "{line}");
    }

    cellar.change(|contents| contents.dead_keys = 3);
    sleep(MINUTE * 58).await;
    assert_eq!(left(), [3, 0, 0], "not before the hour is over");
    sleep(MINUTE * 2).await;
    assert_eq!(left(), [0, 0, 0]);
    assert_eq!(log.take().len(), 1);
    sleep(MINUTE * 600).await;
    assert_eq!(log.take(), [""; 0], "nothing to tell of");
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn pause_between_batches_lasts_as_long_as_the_batch() {
    for (takes, rests) in [(2_000, 2_000), (1, 50)] {
        let cellar = Arc::new(Cellar::default());
        cellar.change(|contents| {
            contents.dead_keys = 4 * Retention::BATCH_SIZE;
            contents.batch_takes = Duration::from_millis(takes);
        });
        let job = start(&cellar);
        sleep(MINUTE).await;
        let batches = cellar.look(|contents| contents.batches.clone());
        assert_eq!(batches.len(), 5, "the last finds that nothing is left");
        for pair in batches.windows(2) {
            let rest = pair[1].0 - pair[0].1;
            // The timer of the runtime counts whole milliseconds.
            let expected = Duration::from_millis(rests)..=Duration::from_millis(rests + 2);
            assert!(expected.contains(&rest), "{rest:?} after {takes} ms");
        }
        job.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn partial_batch_continues_the_run_up_to_a_limit() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.keys_at_once = Some(3);
        (contents.dead_keys, contents.sessions) = (100, 1);
    });
    let job = start(&cellar);
    sleep(MINUTE).await;
    assert_eq!(cellar.look(|contents| contents.dead_keys), 0);

    cellar.change(|contents| {
        contents.batches.clear();
        (contents.dead_keys, contents.sessions) = (u32::MAX, 1);
    });
    sleep(MINUTE * 61).await;
    let batches = cellar.look(|contents| contents.batches.len());
    assert_eq!(u32::try_from(batches), Ok(MAX_SMALL_BATCHES));
    assert_eq!(
        cellar.look(|contents| contents.sessions),
        0,
        "the others have their turn"
    );
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_one_batch_and_starts_no_other() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.dead_keys = u32::MAX;
        contents.invitations = 7;
        contents.batch_takes = Duration::from_secs(4);
    });
    let job = start(&cellar);
    // In the middle of the second batch.
    sleep(Duration::from_secs(10)).await;
    let asked = Instant::now();
    job.finish().await;
    assert!(asked.elapsed() <= Duration::from_secs(2), "{:?}", asked.elapsed());
    sleep(MINUTE * 200).await;
    assert_eq!(cellar.look(|contents| contents.batches.len()), 2);
    assert_eq!(cellar.look(|contents| contents.invitations), 7);
}

#[tokio::test(start_paused = true)]
async fn shutdown_between_runs_is_immediate() {
    let cellar = Arc::new(Cellar::default());
    let job = start(&cellar);
    sleep(MINUTE).await;
    let asked = Instant::now();
    job.finish().await;
    assert_eq!(asked.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_a_hanging_database() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| contents.batch_takes = MINUTE * 1_000);
    let job = start(&cellar);
    sleep(MINUTE).await;
    let asked = Instant::now();
    job.finish().await;
    assert!(
        asked.elapsed() <= job::SHUTDOWN_TIMEOUT * 2,
        "{:?}",
        asked.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn failing_kind_stops_no_other_and_logs_failure_and_recovery() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.events_may_go = true;
        contents.keys_are_stuck = true;
        (contents.dead_keys, contents.sessions) = (1, 1);
    });
    let (log, _kept) = Lines::of_this_thread();
    let job = start(&cellar);
    sleep(MINUTE * 1_000).await;
    assert_eq!(
        cellar.look(|contents| (contents.dead_keys, contents.sessions)),
        (1, 0)
    );
    let [removed, failed] = &log.take()[..] else {
        panic!("not one line for each");
    };
    assert!(removed.contains("expired sessions"), "{removed}");
    assert!(
        failed.starts_with("WARN") && failed.contains("\"dead keys\"") && failed.contains("stuck"),
        "{failed}"
    );

    cellar.change(|contents| contents.keys_are_stuck = false);
    sleep(MINUTE * 1_000).await;
    assert_eq!(cellar.look(|contents| contents.dead_keys), 0);
    let [removed, works] = &log.take()[..] else {
        panic!("not one line for each");
    };
    assert!(removed.contains("dead keys"), "{removed}");
    assert!(works.contains("retention works again"), "{works}");
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn membership_whose_surplus_keys_stay_stops_no_other() {
    let cellar = Arc::new(Cellar::default());
    let members = [1, 2, 3, 4].map(|number| format!("00000000-0000-7000-8000-00000000000{number}"));
    let members = members.map(|member| member.parse::<MembershipId>().unwrap());
    let surplus = [Some(600), None, None, Some(900)];
    cellar.change(|contents| {
        contents.events_may_go = true;
        contents.sessions = 1;
        contents.surplus_keys = members.into_iter().zip(surplus).collect();
    });
    let (log, _kept) = Lines::of_this_thread();
    let job = start(&cellar);
    sleep(MINUTE * 3).await;
    let left = || cellar.look(|contents| contents.surplus_keys.values().copied().collect::<Vec<_>>());
    assert_eq!(left(), [Some(0), None, None, Some(0)]);
    let [removed, sessions, failed] = &log.take()[..] else {
        panic!("not one line for each");
    };
    assert!(removed.contains("removed=1500"), "{removed}");
    assert!(sessions.contains("expired sessions"), "{sessions}");
    assert!(
        failed.contains("\"surplus ended keys\"") && failed.contains("stuck"),
        "{failed}"
    );

    cellar.change(|contents| contents.surplus_keys.retain(|_, keys| keys.is_some()));
    sleep(MINUTE * 3).await;
    let lines = log.take();
    assert!(lines.len() == 1 && lines[0].contains("works again"), "{lines:?}");
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn oversized_batch_is_halved_until_it_succeeds() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.events_may_go = true;
        contents.manageable = Some(100);
        (contents.dead_keys, contents.sessions) = (10_000, 1);
    });
    let (log, _kept) = Lines::of_this_thread();
    let job = start(&cellar);
    sleep(MINUTE).await;
    assert_eq!(
        cellar.look(|contents| (contents.dead_keys, contents.sessions)),
        (0, 0)
    );
    let [keys, _] = &log.take()[..] else {
        panic!("not one line for each");
    };
    assert!(keys.contains("removed=10000"), "{keys}");
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn failed_run_is_retried_after_one_minute() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.keys_are_stuck = true;
        contents.dead_keys = 1;
    });
    let job = start(&cellar);
    sleep(MINUTE).await;
    cellar.change(|contents| contents.keys_are_stuck = false);
    sleep(MINUTE * 2).await;
    assert_eq!(cellar.look(|contents| contents.dead_keys), 0);
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn run_that_panics_is_followed_by_others() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.panics = true;
        contents.dead_keys = 1;
    });
    let job = start(&cellar);
    sleep(MINUTE).await;
    assert_eq!(cellar.look(|contents| contents.dead_keys), 1);
    sleep(MINUTE * 60).await;
    assert_eq!(cellar.look(|contents| contents.dead_keys), 0);
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_removed_with_untrusted_clock_and_each_run_reports() {
    let cellar = Arc::new(Cellar::default());
    let moment = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    let doubt = ClockDoubt::Differs {
        ours: moment("2027-12-27T00:00:00Z"),
        database: moment("2026-11-22T00:00:00Z"),
    };
    cellar.change(|contents| {
        contents.doubt = Some(doubt);
        contents.events_may_go = true;
        contents.dead_keys = 1;
    });
    let (log, _kept) = Lines::of_this_thread();
    let job = start(&cellar);
    sleep(MINUTE * 150).await;
    assert_eq!(cellar.look(|contents| contents.dead_keys), 1);
    let lines = log.take();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[0].starts_with("WARN") && lines[0].contains("2027-12-27"),
        "{lines:?}"
    );
    assert!(!lines[0].contains("clock-is-right"), "{lines:?}");
    cellar.change(|contents| {
        contents.doubt = Some(ClockDoubt::Jumped {
            ours: moment("2027-12-27T00:00:00Z"),
            last: moment("2026-11-22T00:00:00Z"),
        });
    });
    sleep(MINUTE * 60).await;
    let lines = log.take();
    assert!(
        lines.len() == 1 && lines[0].contains(" clean-up --clock-is-right` once"),
        "{lines:?}"
    );
    cellar.change(|contents| contents.doubt = None);
    sleep(MINUTE * 60).await;
    assert_eq!(cellar.look(|contents| contents.dead_keys), 0);
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn untrusted_clock_after_a_failure_is_logged_hourly() {
    let cellar = Arc::new(Cellar::default());
    cellar.change(|contents| {
        contents.events_may_go = true;
        contents.keys_are_stuck = true;
        contents.dead_keys = 1;
    });
    let (log, _kept) = Lines::of_this_thread();
    let job = start(&cellar);
    sleep(MINUTE / 2).await;
    assert_eq!(log.take().len(), 1);
    let moment = DateTime::UNIX_EPOCH;
    cellar.change(|contents| {
        contents.doubt = Some(ClockDoubt::Differs {
            ours: moment + TimeDelta::days(365),
            database: moment,
        });
    });
    sleep(MINUTE * 150).await;
    let lines = log.take();
    assert_eq!(lines.len(), 3, "{lines:?}");
    job.finish().await;
}

#[tokio::test(start_paused = true)]
async fn missing_privilege_to_remove_events_is_logged_once_with_advice() {
    let cellar = Arc::new(Cellar::default());
    let (log, _kept) = Lines::of_this_thread();
    let job = start(&cellar);
    sleep(MINUTE * 1_000).await;
    assert!(
        cellar.look(|contents| contents.removals_of_events) > 10,
        "it may be allowed one day"
    );
    let [line] = &log.take()[..] else {
        panic!("not one line");
    };
    assert!(line.starts_with("WARN"), "{line}");
    assert!(
        line.contains(" clean-up` regularly") && line.contains("KEYWARD_MIGRATION_DATABASE_URL"),
        "{line}"
    );
    job.finish().await;
}
