//! The audit log, followed by an administrator.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use keyward_domain::administration::{
    AuditFollower, AuditTrail, Authority, FeedStart, FollowedEvents, FollowedLog,
};
use keyward_domain::audit::{Action, Actor, AuditEvent, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{AuditFeed, AuditFilter, AuditLog, MockAuditLog, ReadFeedError, StorageError};
use keyward_domain::retention::ports::RetentionStore;
use keyward_domain::testing::TestInstallation;

fn installation_with_ada() -> (TestInstallation, Member) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    (installation, ada)
}

fn follower(installation: &TestInstallation, log: FollowedLog, start: FeedStart) -> AuditFollower {
    let feed = Arc::new(installation.store.clone());
    AuditFollower::new(
        feed,
        installation.audit_trail(),
        log,
        AuditFilter::default(),
        start,
    )
}

async fn record(installation: &TestInstallation, member: Option<&Member>) -> AuditEvent {
    let act = installation.builder.act(Actor::Administrator);
    let event = AuditEvent {
        organization_id: member.map(|member| member.organization.id),
        ..member.map_or_else(
            || act.event(Action::CreateSetupLink, Subject::Installation),
            |member| act.event(Action::MakeOwner, Subject::Membership(member.membership.id)),
        )
    };
    let recorded = installation.store.record(event.clone()).await;
    recorded.expect("an event");
    event
}

async fn next(follower: &mut AuditFollower) -> FollowedEvents {
    follower.next().await.expect("events")
}

fn events(followed: &FollowedEvents) -> Vec<AuditEvent> {
    followed.events.iter().map(|(_, event)| event.clone()).collect()
}

fn actions(followed: &FollowedEvents) -> Vec<Action> {
    followed.events.iter().map(|(_, event)| event.action).collect()
}

#[tokio::test]
async fn following_a_log_is_recorded_in_that_log() {
    let (installation, ada) = installation_with_ada();
    let here = record(&installation, Some(&ada)).await;
    let nowhere = record(&installation, None).await;
    let authority = Authority::of_administrator(ada.organization.id);
    for (log, expected) in [
        (FollowedLog::INSTALLATION, vec![nowhere.clone()]),
        (FollowedLog::of_organization(&authority), vec![here.clone()]),
        (FollowedLog::ALL, vec![here, nowhere]),
    ] {
        let mut follower = follower(&installation, log, FeedStart::Beginning);
        let mut found = events(&next(&mut follower).await);
        found.retain(|event| event.action != Action::ExportAuditLog);
        assert_eq!(found, expected);
        let recorded = next(&mut follower).await;
        assert_eq!(actions(&recorded), [Action::ExportAuditLog]);
        assert_eq!(actions(&next(&mut follower).await), []);
    }
}

#[tokio::test]
async fn followed_events_include_names_and_organization() {
    let (installation, ada) = installation_with_ada();
    record(&installation, Some(&ada)).await;
    let mut follower = follower(&installation, FollowedLog::ALL, FeedStart::Beginning);
    let found = next(&mut follower).await;
    let named = [
        (Subject::Organization(ada.organization.id), "Acme".to_owned()),
        (Subject::Membership(ada.membership.id), "ada".to_owned()),
    ];
    let names = found
        .names
        .into_iter()
        .map(|(subject, named)| (subject, named.name));
    assert_eq!(names.collect::<HashMap<_, _>>(), named.into());
}

#[tokio::test]
async fn reading_to_the_end_excludes_later_events() {
    let (installation, _) = installation_with_ada();
    let first = record(&installation, None).await;
    let mut follower = follower(&installation, FollowedLog::ALL, FeedStart::Beginning).to_the_end();
    let found = next(&mut follower).await;
    assert_eq!(events(&found), [first]);
    assert!(!found.has_more);
    assert_eq!(actions(&next(&mut follower).await), [], "not even its own event");
}

#[tokio::test]
async fn following_from_the_end_starts_with_the_next_event() {
    let (installation, _) = installation_with_ada();
    record(&installation, None).await;
    let mut follower = follower(&installation, FollowedLog::ALL, FeedStart::End);
    assert_eq!(actions(&next(&mut follower).await), []);
    let next_event = record(&installation, None).await;
    let found = next(&mut follower).await;
    assert_eq!(actions(&found)[0], Action::ExportAuditLog);
    assert_eq!(events(&found)[1..], [next_event]);
}

#[tokio::test]
async fn follower_resumes_at_its_position_after_a_failure() {
    let (installation, _) = installation_with_ada();
    let first = record(&installation, None).await;
    let mut follower = follower(&installation, FollowedLog::ALL, FeedStart::Beginning);
    installation.store.go_down();
    let failed = follower.next().await;
    assert!(
        matches!(failed, Err(ReadFeedError::Storage(StorageError::Unavailable(_)))),
        "{failed:?}"
    );
    installation.store.come_back();
    // Nothing is printed of which the log does not say that it was.
    installation
        .store
        .refuse_changes(|| StorageError::Unavailable("full".into()));
    follower
        .next()
        .await
        .expect_err("an event that cannot be written");
    installation.store.allow_changes();
    assert_eq!(events(&next(&mut follower).await), [first]);
    let recorded = next(&mut follower).await;
    assert_eq!(actions(&recorded), [Action::ExportAuditLog]);
}

#[tokio::test]
async fn follower_with_unknown_event_outcome_records_another_event() {
    let (installation, _) = installation_with_ada();
    let first = record(&installation, None).await;
    let recorded: Arc<Mutex<Vec<AuditEvent>>> = Arc::default();
    let mut log = MockAuditLog::new();
    let noted = Arc::clone(&recorded);
    log.expect_record().returning(move |event| {
        let mut recorded = noted.lock().expect("no panic");
        recorded.push(event);
        match recorded.len() {
            1 => Err(StorageError::OutcomeUnknown("the line broke".into())),
            _ => Ok(()),
        }
    });
    let store = Arc::new(installation.store.clone());
    let sources = installation.builder.sources.clone();
    let trail = AuditTrail::new(
        Arc::new(log),
        Arc::clone(&store) as _,
        Arc::clone(&store) as _,
        sources,
    );
    let (filter, start) = (AuditFilter::default(), FeedStart::Beginning);
    let mut follower = AuditFollower::new(store, trail, FollowedLog::ALL, filter, start);
    let unknown = follower.next().await;
    assert!(
        matches!(
            unknown,
            Err(ReadFeedError::Storage(StorageError::OutcomeUnknown(_)))
        ),
        "{unknown:?}"
    );
    assert_eq!(events(&next(&mut follower).await), [first]);
    next(&mut follower).await;
    let recorded = recorded.lock().expect("no panic");
    assert_eq!(recorded.len(), 2);
    assert_ne!(recorded[0].id, recorded[1].id);
}

#[tokio::test]
async fn events_removed_while_the_follower_waits_are_reported_once() {
    let (installation, _) = installation_with_ada();
    let mut follower = follower(&installation, FollowedLog::ALL, FeedStart::Beginning);
    next(&mut follower).await;
    next(&mut follower).await;
    for _ in 0..3 {
        record(&installation, None).await;
    }
    installation.builder.clock.advance(TimeDelta::days(400));
    let now = installation.builder.clock.now();
    let removed = installation.store.remove_audit_events(now, 500, None).await;
    assert_eq!(removed.expect("a removal"), 4);
    for expected in [true, false] {
        assert_eq!(next(&mut follower).await.were_some_removed, expected);
    }
}

#[tokio::test]
async fn events_removed_before_reading_are_reported_once() {
    let (installation, _) = installation_with_ada();
    for _ in 0..3 {
        record(&installation, None).await;
    }
    let all = installation
        .store
        .events_after(None, Default::default())
        .await
        .expect("a page");
    let (first, last) = (all.entries[0].0, all.entries[2].0);
    installation.builder.clock.advance(TimeDelta::days(400));
    let now = installation.builder.clock.now();
    let removed = installation.store.remove_audit_events(now, 500, None).await;
    assert_eq!(removed.expect("a removal"), 3);
    record(&installation, None).await;

    for (start, expected) in [
        (FeedStart::After(first), true),
        (FeedStart::After(last), false),
        (FeedStart::Beginning, false),
    ] {
        let mut follower = follower(&installation, FollowedLog::ALL, start);
        assert_eq!(next(&mut follower).await.were_some_removed, expected, "{start:?}");
        assert!(!next(&mut follower).await.were_some_removed, "{start:?}");
    }
}
