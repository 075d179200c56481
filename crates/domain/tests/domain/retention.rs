//! Retention periods: when expired records are purged.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::audit::{Action, Actor, AuditEvent, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::id::MembershipId;
use keyward_domain::ports::StorageError;
use keyward_domain::retention::ports::MockRetentionStore;
use keyward_domain::retention::{
    ClockDoubt, InvalidRetentionPeriod, Retention, RetentionClass, RetentionError, RetentionPeriods,
    RetentionRun,
};
use keyward_domain::testing::Builder;

const BATCH_SIZE: u32 = Retention::BATCH_SIZE;

/// A run of a retention whose clock is trusted.
async fn run(mut store: MockRetentionStore, periods: RetentionPeriods) -> RetentionRun {
    store.expect_check_clock().returning(|_, _| Ok(None));
    match retention(store, periods).0.begin().await {
        Ok(run) => run,
        Err(error) => unreachable!("the mock trusts the clock: {error}"),
    }
}

fn retention(store: MockRetentionStore, periods: RetentionPeriods) -> (Retention, DateTime<Utc>) {
    let make = Builder::new(1);
    make.clock.advance(TimeDelta::minutes(1_234));
    let retention = Retention::new(Arc::new(store), make.sources, periods);
    (retention, make.clock.now())
}

fn now() -> DateTime<Utc> {
    retention(MockRetentionStore::new(), RetentionPeriods::default()).1
}

#[tokio::test]
async fn dead_keys_are_kept_90_days_by_default() {
    let given = RetentionPeriods::default()
        .with_dead_keys(TimeDelta::days(15))
        .unwrap();
    for (periods, days) in [(RetentionPeriods::default(), 90), (given, 15)] {
        let mut store = MockRetentionStore::new();
        store
            .expect_remove_dead_keys()
            .withf(move |before, at_most| *before == now() - TimeDelta::days(days) && *at_most == BATCH_SIZE)
            .return_once(|_, _| Ok(7));
        let mut run = run(store, periods).await;
        assert_eq!(
            run.remove_batch(RetentionClass::DeadKeys, BATCH_SIZE)
                .await
                .unwrap(),
            7
        );
    }
}

/// Finds these members, one after the other, and removes this many surplus keys of each.
fn members_with_surplus(surplus: Vec<(MembershipId, u32)>) -> MockRetentionStore {
    let mut store = MockRetentionStore::new();
    let members: Vec<MembershipId> = surplus.iter().map(|(member, _)| *member).collect();
    store
        .expect_next_with_surplus_keys()
        .returning(move |after, kept| {
            assert_eq!(kept, 10_000);
            Ok(members.iter().copied().find(|member| Some(*member) > after))
        });
    let left: Mutex<HashMap<MembershipId, u32>> = Mutex::new(surplus.into_iter().collect());
    store
        .expect_remove_surplus_keys()
        .returning(move |surplus, at_most| {
            assert_eq!(
                (surplus.kept, surplus.before),
                (10_000, now() - TimeDelta::hours(25))
            );
            let mut left = left.lock().expect("no panic");
            let left: &mut u32 = left.get_mut(&surplus.consumer).expect("a member");
            let removed = at_most.min(*left);
            *left -= removed;
            Ok(removed)
        });
    store
}

#[tokio::test]
async fn surplus_keys_are_removed_member_by_member_in_full_batches() {
    let make = Builder::new(3);
    let surplus = [0, 1_100, 0, 1, 1, 0].map(|surplus| (make.ids.next(), surplus));
    let mut run = run(
        members_with_surplus(surplus.to_vec()),
        RetentionPeriods::default(),
    )
    .await;
    let mut batches = Vec::new();
    for _ in 0..5 {
        let removed = run.remove_batch(RetentionClass::SurplusKeys, BATCH_SIZE).await;
        batches.push(removed.unwrap());
    }
    assert_eq!(batches, [500, 500, 102, 0, 0]);
}

#[tokio::test]
async fn no_surplus_keys_are_one_question() {
    let mut store = MockRetentionStore::new();
    store
        .expect_next_with_surplus_keys()
        .once()
        .return_once(|_, _| Ok(None));
    let mut run = run(store, RetentionPeriods::default()).await;
    let removed = run.remove_batch(RetentionClass::SurplusKeys, BATCH_SIZE).await;
    assert_eq!(removed.unwrap(), 0);
}

#[tokio::test]
async fn failed_removal_of_surplus_keys_continues_with_its_member() {
    let make = Builder::new(3);
    let member: MembershipId = make.ids.next();
    let mut store = MockRetentionStore::new();
    store
        .expect_next_with_surplus_keys()
        .returning(move |after, _| Ok((after != Some(member)).then_some(member)));
    let mut answers = [Err(StorageError::Unavailable("slow".into())), Ok(1), Ok(0)].into_iter();
    store
        .expect_remove_surplus_keys()
        .withf(move |surplus, _| surplus.consumer == member)
        .returning(move |_, _| answers.next().unwrap());
    let mut run = run(store, RetentionPeriods::default()).await;
    let failed = run.remove_batch(RetentionClass::SurplusKeys, BATCH_SIZE).await;
    assert!(matches!(
        failed,
        Err(RetentionError::Storage(StorageError::Unavailable(_)))
    ));
    let removed = run.remove_batch(RetentionClass::SurplusKeys, 250).await;
    assert_eq!(removed.unwrap(), 1);
}

#[tokio::test]
async fn membership_at_which_removal_fails_can_be_skipped() {
    let make = Builder::new(3);
    let members: [MembershipId; 3] = [make.ids.next(), make.ids.next(), make.ids.next()];
    let mut store = MockRetentionStore::new();
    store
        .expect_next_with_surplus_keys()
        .returning(move |after, _| Ok(members.into_iter().find(|member| Some(*member) > after)));
    let mut left = [7, 0, 9];
    store.expect_remove_surplus_keys().returning(move |surplus, _| {
        match members.iter().position(|member| *member == surplus.consumer) {
            Some(1) => Err(StorageError::Unavailable("slow".into())),
            Some(place) => Ok(std::mem::take(&mut left[place])),
            None => unreachable!("these are all"),
        }
    });
    let mut run = run(store, RetentionPeriods::default()).await;
    let surplus = RetentionClass::SurplusKeys;
    assert!(!run.skip_failed_membership(surplus), "nothing has failed");
    // Records that were removed before the failure count.
    assert_eq!(run.remove_batch(surplus, BATCH_SIZE).await.unwrap(), 7);
    assert!(run.remove_batch(surplus, BATCH_SIZE).await.is_err());
    assert!(run.remove_batch(surplus, BATCH_SIZE).await.is_err());
    assert!(!run.skip_failed_membership(RetentionClass::DeadKeys));
    assert!(run.skip_failed_membership(surplus));
    assert_eq!(run.remove_batch(surplus, BATCH_SIZE).await.unwrap(), 9);
    assert_eq!(run.remove_batch(surplus, BATCH_SIZE).await.unwrap(), 0);
    assert!(!run.skip_failed_membership(surplus));
}

#[tokio::test]
async fn ended_invitations_are_kept_30_days_by_default() {
    let given = RetentionPeriods::default()
        .with_ended_invitations(TimeDelta::days(15))
        .unwrap();
    for (periods, days) in [(RetentionPeriods::default(), 30), (given, 15)] {
        let mut store = MockRetentionStore::new();
        store
            .expect_remove_ended_invitations()
            .withf(move |before, at_most| *before == now() - TimeDelta::days(days) && *at_most == BATCH_SIZE)
            .return_once(|_, _| Ok(7));
        let mut run = run(store, periods).await;
        assert_eq!(
            run.remove_batch(RetentionClass::EndedInvitations, BATCH_SIZE)
                .await
                .unwrap(),
            7
        );
    }
}

#[tokio::test]
async fn expired_sessions_are_kept_one_day_by_default() {
    let given = RetentionPeriods::default()
        .with_expired_sessions(TimeDelta::days(3))
        .unwrap();
    for (periods, days) in [(RetentionPeriods::default(), 1), (given, 3)] {
        let mut store = MockRetentionStore::new();
        store
            .expect_remove_expired_sessions()
            .withf(move |before, at_most| *before == now() - TimeDelta::days(days) && *at_most == BATCH_SIZE)
            .return_once(|_, _| Ok(7));
        let mut run = run(store, periods).await;
        assert_eq!(
            run.remove_batch(RetentionClass::ExpiredSessions, BATCH_SIZE)
                .await
                .unwrap(),
            7
        );
    }
}

#[tokio::test]
async fn idempotency_keys_are_kept_a_day_and_the_clock_skew() {
    let mut store = MockRetentionStore::new();
    store
        .expect_forget_idempotency_keys()
        .withf(|before, at_most| *before == now() - TimeDelta::hours(25) && *at_most == BATCH_SIZE)
        .return_once(|_, _| Ok(7));
    let mut run = run(store, RetentionPeriods::default()).await;
    assert_eq!(
        run.remove_batch(RetentionClass::IdempotencyKeys, BATCH_SIZE)
            .await
            .unwrap(),
        7
    );
}

#[tokio::test]
async fn refilled_throttle_buckets_are_kept_for_the_allowed_clock_skew() {
    let mut store = MockRetentionStore::new();
    store
        .expect_remove_empty_throttle_buckets()
        .withf(|before, at_most| *before == now() - TimeDelta::hours(1) && *at_most == BATCH_SIZE)
        .return_once(|_, _| Ok(7));
    let mut run = run(store, RetentionPeriods::default()).await;
    assert_eq!(
        run.remove_batch(RetentionClass::EmptyThrottleBuckets, BATCH_SIZE)
            .await
            .unwrap(),
        7
    );
}

#[tokio::test]
async fn audit_events_are_kept_forever_by_default() {
    // A call of the store would be one too many.
    let mut run = run(MockRetentionStore::new(), RetentionPeriods::default()).await;
    assert_eq!(
        run.remove_batch(RetentionClass::AuditEvents, BATCH_SIZE)
            .await
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn audit_events_are_removed_by_whole_days_with_an_event() {
    let mut store = MockRetentionStore::new();
    store
        .expect_remove_audit_events()
        .withf(|before, at_most, event: &Option<AuditEvent>| {
            let midnight = "00:00:00".parse().unwrap();
            let day = (now() - TimeDelta::days(400)).date_naive();
            let event = event.as_ref().unwrap();
            *before == day.and_time(midnight).and_utc()
                && *at_most == BATCH_SIZE
                && event.action == Action::RemoveAuditEvents
                && event.subject == Subject::Installation
                && event.actor == Actor::System
                && event.organization_id.is_none()
                && event.at == now()
        })
        .return_once(|_, _, _| Ok(7));
    let periods = RetentionPeriods::default()
        .with_audit_events(TimeDelta::days(400))
        .unwrap();
    let mut run = run(store, periods).await;
    assert_eq!(
        run.remove_batch(RetentionClass::AuditEvents, BATCH_SIZE)
            .await
            .unwrap(),
        7
    );
}

#[tokio::test]
async fn missing_right_to_remove_events_is_reported() {
    let mut store = MockRetentionStore::new();
    store
        .expect_remove_audit_events()
        .return_once(|_, _, _| Err(RetentionError::NotAllowed));
    store
        .expect_remove_dead_keys()
        .return_once(|_, _| Err(StorageError::Unavailable("away".into())));
    let periods = RetentionPeriods::default()
        .with_audit_events(TimeDelta::days(30))
        .unwrap();
    let mut run = run(store, periods).await;
    assert!(matches!(
        run.remove_batch(RetentionClass::AuditEvents, BATCH_SIZE).await,
        Err(RetentionError::NotAllowed)
    ));
    assert!(matches!(
        run.remove_batch(RetentionClass::DeadKeys, BATCH_SIZE).await,
        Err(RetentionError::Storage(StorageError::Unavailable(_)))
    ));
}

#[tokio::test]
async fn retention_starting_before_the_epoch_keeps_everything() {
    let periods = RetentionPeriods::default()
        .with_dead_keys(TimeDelta::MAX)
        .unwrap();
    let mut run = run(MockRetentionStore::new(), periods).await;
    assert_eq!(
        run.remove_batch(RetentionClass::DeadKeys, BATCH_SIZE)
            .await
            .unwrap(),
        0
    );
}

#[test]
fn retention_periods_have_a_safe_minimum() {
    let almost = |days| TimeDelta::days(days) - TimeDelta::milliseconds(1);
    let too_short = |days| {
        Err(InvalidRetentionPeriod {
            shortest: TimeDelta::days(days),
        })
    };
    let periods = RetentionPeriods::default;
    assert_eq!(periods().with_dead_keys(almost(15)), too_short(15));
    assert_eq!(periods().with_ended_invitations(almost(15)), too_short(15));
    assert_eq!(periods().with_expired_sessions(almost(0)), too_short(0));
    assert_eq!(periods().with_audit_events(almost(30)), too_short(30));
    assert_eq!(
        periods().with_audit_events(almost(30)).unwrap_err().to_string(),
        "expected at least 30 days"
    );
}

#[tokio::test]
async fn nothing_is_removed_while_the_clock_is_untrusted() {
    let mut store = MockRetentionStore::new();
    let doubt = ClockDoubt::Differs {
        ours: now(),
        database: now() - TimeDelta::days(400),
    };
    store
        .expect_check_clock()
        .withf(|moment, is_confirmed| *moment == now() && !is_confirmed)
        .return_once(move |_, _| Ok(Some(doubt)));
    let (retention, _) = retention(store, RetentionPeriods::default());
    let refused = retention.begin().await;
    assert!(matches!(refused, Err(RetentionError::Clock(reported)) if reported == doubt));
}

#[tokio::test]
async fn clock_confirmation_reaches_the_store() {
    let mut store = MockRetentionStore::new();
    store
        .expect_check_clock()
        .withf(|moment, is_confirmed| *moment == now() && *is_confirmed)
        .return_once(|_, _| Ok(None));
    let (retention, _) = retention(store, RetentionPeriods::default());
    assert!(retention.begin_by_confirmed_clock().await.is_ok());
}

#[tokio::test]
async fn removal_in_many_batches_writes_one_event_with_the_first() {
    let mut store = MockRetentionStore::new();
    let mut answers = [
        Ok(0),
        Err(StorageError::Unavailable("slow".into()).into()),
        Ok(5),
        Ok(3),
    ]
    .into_iter();
    let with_event = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&with_event);
    store.expect_remove_audit_events().returning(move |_, _, event| {
        reported.lock().unwrap().push(event.map(|event| event.id));
        answers.next().unwrap()
    });
    let periods = RetentionPeriods::default()
        .with_audit_events(TimeDelta::days(30))
        .unwrap();
    let mut run = run(store, periods).await;
    for _ in 0..4 {
        let _ = run.remove_batch(RetentionClass::AuditEvents, BATCH_SIZE).await;
    }
    let [Some(first), Some(second), Some(third), None] = with_event.lock().unwrap()[..] else {
        panic!("the first three have one, the last none");
    };
    assert!(
        first < second && second < third,
        "one whose outcome is unknown is never sent again"
    );
}
