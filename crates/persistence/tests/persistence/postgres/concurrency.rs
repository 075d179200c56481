//! Many changes that begin at the very same moment, each on a replica of its own: one replica lets few changes of a
//! consumer begin.
//!
//! A table is locked until all of them have a connection and wait; so none is over before the last has begun.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures_util::future::{BoxFuture, join_all};
use keyward_domain::administration::ports::{EndMembershipError, MemberStore};
use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::audit::Actor;
use keyward_domain::membership::Role;
use keyward_domain::ports::{AddKeyError, ApiKeys, DescendantKeys, KeyLimit, KeyLimits, RevokeKeyError};
use keyward_domain::rate::Rate;
use keyward_persistence::postgres::PostgresStore;

use crate::postgres::fixture::{AMPLE, Fixture, connect, count, long_timeouts, store};

const DEADLINE: Duration = Duration::from_secs(20);

type Change<T> = Box<dyn FnOnce(PostgresStore) -> BoxFuture<'static, T>>;

fn change<T, F>(start: impl FnOnce(PostgresStore) -> F + 'static) -> Change<T>
where
    F: Future<Output = T> + Send + 'static,
{
    Box::new(move |store| Box::pin(start(store)))
}

/// Starts the changes, and lets them go when all wait.
async fn at_once<T: Send + 'static>(fixture: &Fixture, changes: Vec<Change<T>>) -> Vec<T> {
    let mut blocker = connect(fixture.database.url()).await;
    let lock = blocker.transaction().await.expect("a transaction");
    lock.batch_execute("LOCK TABLE memberships IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let expected = i64::try_from(changes.len()).expect("few");
    let tasks: Vec<_> = changes
        .into_iter()
        .map(|change| tokio::spawn(change(store(long_timeouts(fixture.database.url())))))
        .collect();
    let waiting = "pg_stat_activity WHERE datname = current_database() AND application_name = 'keyward' \
                   AND wait_event_type = 'Lock'";
    let begun = Instant::now();
    while count(&fixture.client, waiting).await < expected {
        assert!(begun.elapsed() < DEADLINE, "some tasks do not wait");
    }
    lock.rollback().await.expect("the lock is let go");
    let results = join_all(tasks).await;
    results
        .into_iter()
        .map(|result| result.expect("no panic"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_on_many_servers_admit_exactly_the_burst() {
    let fixture = Fixture::new().await;
    let limits = KeyLimits {
        changes: Rate::new(10, TimeDelta::minutes(1)),
        ..AMPLE
    };
    let changes = (0..64)
        .map(|number| {
            let new = fixture.new_key(&format!("key {number}"), None);
            let act = fixture.act();
            change(move |store| async move { ApiKeys::add(&store, new, limits, act).await })
        })
        .collect();
    let before = count(&fixture.client, "api_keys").await;
    // The creation of the existing key counted as a change.
    let forget = "UPDATE memberships SET changes_empty_at = NULL";
    fixture.client.batch_execute(forget).await.expect("forgotten");
    let results = at_once(&fixture, changes).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 10);
    for refusal in results.into_iter().filter_map(Result::err) {
        let AddKeyError::Throttled(throttled) = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!(throttled.retry_after, TimeDelta::minutes(1));
    }
    assert_eq!(count(&fixture.client, "api_keys").await, before + 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_keys_below_the_limit_admit_exactly_one() {
    let fixture = Fixture::new().await;
    let limits = KeyLimits {
        valid: KeyLimit(2),
        ..AMPLE
    };
    let changes = (0..64)
        .map(|number| {
            let new = fixture.new_key(&format!("key {number}"), None);
            let act = fixture.act();
            change(move |store| async move { ApiKeys::add(&store, new, limits, act).await })
        })
        .collect();
    let results = at_once(&fixture, changes).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    for refusal in results.into_iter().filter_map(Result::err) {
        assert!(matches!(refusal, AddKeyError::LimitReached(_)), "{refusal:?}");
    }
    assert_eq!(count(&fixture.client, "api_keys").await, 2);
    assert_eq!(
        count(&fixture.client, "audit_events WHERE action = 'api_key.create'").await,
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_revocations_of_one_key_succeed_with_one_event() {
    let fixture = Fixture::new().await;
    let (consumer, id) = (fixture.holder().consumer().id, fixture.key.key.id);
    let changes = (0..50)
        .map(|_| {
            let act = fixture.act();
            change(move |store| async move {
                let (reason, descendants) = (RevocationReason::Holder, DescendantKeys::Revoke);
                store
                    .revoke(
                        consumer,
                        id,
                        reason.into(),
                        descendants,
                        KeyPrecondition::AnyVersion,
                        act,
                    )
                    .await
            })
        })
        .collect();
    let results: Result<Vec<_>, RevokeKeyError> = at_once(&fixture, changes).await.into_iter().collect();
    let revoked: Vec<_> = results.expect("all succeed").into_iter().flatten().collect();
    assert_eq!(revoked, [id]);
    assert_eq!(
        count(&fixture.client, "audit_events WHERE action = 'api_key.revoke'").await,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_child_is_added_to_a_key_during_its_revocation() {
    let fixture = Fixture::new().await;
    let (consumer, id) = (fixture.holder().consumer().id, fixture.key.key.id);
    let mut changes: Vec<Change<()>> = (0..40)
        .map(|number| {
            let new = fixture.new_child(id, &format!("child {number}"));
            let act = fixture.act();
            change(move |store| async move {
                match ApiKeys::add(&store, new, AMPLE, act).await {
                    Ok(_) | Err(AddKeyError::HolderGone) => {}
                    other => panic!("{other:?}"),
                }
            })
        })
        .collect();
    let act = fixture.act();
    let revocation = change(move |store| async move {
        let (reason, descendants) = (RevocationReason::Holder, DescendantKeys::Revoke);
        let revoked = store
            .revoke(
                consumer,
                id,
                reason.into(),
                descendants,
                KeyPrecondition::AnyVersion,
                act,
            )
            .await;
        assert!(revoked.is_ok(), "{revoked:?}");
    });
    changes.insert(20, revocation);
    at_once(&fixture, changes).await;
    assert_eq!(
        count(&fixture.client, "api_keys WHERE revoked_at IS NULL").await,
        0,
        "whatever was added before the revocation was revoked with it, and nothing was added after"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mutual_removal_of_two_owners_on_several_replicas_keeps_one() {
    let fixture = Fixture::new().await;
    let organization = fixture.owner.organization.id;
    let bob = fixture.make.user("bob");
    let his = fixture
        .make
        .membership(&fixture.owner.organization, &bob, Role::Owner);
    fixture
        .execute(&format!(
            "INSERT INTO users (id, username, display_name, search_text, password_hash, created_at)
             VALUES ('{}', 'bob', 'bob', 'bob', 'x', now());
             INSERT INTO memberships (id, organization_id, user_id, role, joined_at)
             VALUES ('{}', '{organization}', '{}', 'owner', now())",
            bob.id, his.id, bob.id
        ))
        .await;
    let (ada, hers) = (fixture.owner.user.id, fixture.owner.membership.id);
    let changes = (0..64)
        .map(|number| {
            let (actor, other) = if number % 2 == 0 {
                (ada, his.id)
            } else {
                (bob.id, hers)
            };
            let act = fixture.make.act(Actor::User(actor));
            change(move |store| async move { MemberStore::end(&store, organization, other, act).await })
        })
        .collect();
    let results = at_once(&fixture, changes).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    for refusal in results.into_iter().filter_map(Result::err) {
        assert!(
            matches!(
                refusal,
                EndMembershipError::NotAllowed | EndMembershipError::NotFound
            ),
            "{refusal:?}"
        );
    }
    let owners = "memberships WHERE role = 'owner' AND ended_at IS NULL";
    assert_eq!(count(&fixture.client, owners).await, 1);
    assert_eq!(
        count(&fixture.client, "audit_events WHERE action = 'membership.remove'").await,
        1
    );
}
