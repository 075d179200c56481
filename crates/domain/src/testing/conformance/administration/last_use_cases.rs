//! Cases of [`LastUses`](crate::ports::LastUses).

use std::net::IpAddr;
use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::Scene;
use crate::api_key::{ApiKey, LastUse};
use crate::audit::{Action, Subject};
use crate::ports::{DescendantKeys, KeyUse};

fn address(text: &str) -> Option<IpAddr> {
    Some(text.parse().expect("an address"))
}

pub(super) async fn last_use_reads_back_as_recorded(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for from in [
        address("203.0.113.7"),
        address("2001:db8::1"),
        address("::ffff:192.0.2.1"),
        None,
    ] {
        let key = scene.add_key(&ada, "key").await;
        assert_eq!(scene.stored(&key).await.last_use, None);
        let at = scene.later(TimeDelta::milliseconds(7));
        record(&scene, &[(&key, LastUse { at, from })]).await;
        let last_use = Some(LastUse { at, from });
        assert_eq!(scene.stored(&key).await, ApiKey { last_use, ..key });
    }
}

pub(super) async fn last_use_only_moves_forward(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let begun = scene.now();
    let used = |minutes, last: u8| LastUse {
        at: begun + TimeDelta::minutes(minutes),
        from: Some([192, 0, 2, last].into()),
    };
    for (recorded, kept) in [
        (used(2, 1), used(2, 1)),
        (used(1, 2), used(2, 1)),
        (used(2, 3), used(2, 1)),
        (used(3, 4), used(3, 4)),
    ] {
        record(&scene, &[(&key, recorded)]).await;
        assert_eq!(scene.stored(&key).await.last_use, Some(kept));
    }
}

pub(super) async fn last_use_of_a_clock_far_ahead_is_replaced(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let used = |ahead: TimeDelta| LastUse {
        at: scene.now() + ahead,
        from: None,
    };
    let (day, millisecond) = (LastUse::MAX_AHEAD, TimeDelta::milliseconds(1));
    for (recorded, kept) in [
        (used(day), used(day)),
        (used(millisecond), used(day)),
        (used(day + millisecond), used(day + millisecond)),
        (used(TimeDelta::zero()), used(TimeDelta::zero())),
        (used(-millisecond), used(TimeDelta::zero())),
    ] {
        record(&scene, &[(&key, recorded)]).await;
        assert_eq!(scene.stored(&key).await.last_use, Some(kept));
    }
}

pub(super) async fn batch_of_last_uses_records_each_for_its_key(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let mut keys = Vec::new();
    for number in 0..20 {
        let holder = if number % 2 == 0 { &ada } else { &bob };
        keys.push(scene.add_key(holder, &format!("key {number}")).await);
    }
    let begun = scene.now();
    let used = |number: usize| LastUse {
        at: begun + TimeDelta::seconds(i64::try_from(number).expect("a small number")),
        from: (!number.is_multiple_of(3)).then(|| [198, 51, 100, 7].into()),
    };
    let uses: Vec<(&ApiKey, LastUse)> = keys
        .iter()
        .enumerate()
        .map(|(number, key)| (key, used(number)))
        .collect();
    record(&scene, &uses).await;

    for (key, last) in uses {
        assert_eq!(scene.stored(key).await.last_use, Some(last), "{}", key.name);
    }
}

pub(super) async fn last_use_of_unknown_key_is_ignored(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let last = LastUse {
        at: scene.now(),
        from: None,
    };
    let uses = [scene.id(), key.id, scene.id()].map(|key| KeyUse { key, last });
    let recorded = scene.stores.last_uses.record(uses.into(), scene.now()).await;
    recorded.expect("recorded");
    assert_eq!(scene.stored(&key).await.last_use, Some(last));

    let nothing = scene.stores.last_uses.record(Vec::new(), scene.now()).await;
    nothing.expect("nothing is recorded, and nothing fails");
}

pub(super) async fn last_use_changes_nothing_else_and_writes_no_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    let revoked = scene.stored(&key).await;
    let events = scene.events(Some(ada.organization.id)).await;
    let last = LastUse {
        at: scene.now(),
        from: address("192.0.2.1"),
    };
    record(&scene, &[(&key, last)]).await;

    let last_use = Some(last);
    assert_eq!(scene.stored(&key).await, ApiKey { last_use, ..revoked });
    assert_eq!(scene.events(Some(ada.organization.id)).await, events);
}

/// Replicas record the same keys in different orders, and meanwhile whole key trees are revoked.
pub(super) async fn concurrent_last_uses_and_revocations_are_all_recorded(stores: Stores) {
    const ROUNDS: usize = 12;
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let mut keys = vec![root.clone()];
    for number in 0..30 {
        keys.push(scene.add_child(&ada, &root, &format!("child {number}")).await);
    }
    let begun = scene.now();
    let keys = Arc::new(keys);
    let mut tasks: Vec<BoxFuture<'static, bool>> = Vec::new();
    for round in 0..ROUNDS {
        let (store, keys) = (Arc::clone(&scene.stores.last_uses), Arc::clone(&keys));
        tasks.push(Box::pin(async move {
            let at = begun + TimeDelta::seconds(i64::try_from(round).expect("a small number"));
            let used = |key: &ApiKey| KeyUse {
                key: key.id,
                last: LastUse { at, from: None },
            };
            let mut uses: Vec<KeyUse> = keys.iter().map(used).collect();
            if round.is_multiple_of(2) {
                uses.reverse();
            }
            store.record(uses, begun).await.is_ok()
        }));
    }
    let (revoking, member) = (scene.clone(), ada.clone());
    tasks.push(Box::pin(async move {
        let revoked = revoking.revoke(&member, &root, DescendantKeys::Revoke).await;
        revoked.len() == 31
    }));
    let ended = scene.in_parallel(tasks).await;

    assert!(ended.iter().all(|went_well| *went_well), "none fails for another");
    let last = begun + TimeDelta::seconds(i64::try_from(ROUNDS - 1).expect("a small number"));
    for key in keys.iter() {
        let stored = scene.stored(key).await;
        assert_eq!(stored.last_use.map(|used| used.at), Some(last), "{}", key.name);
        assert!(!stored.is_valid(scene.now()), "{}", key.name);
        let subject = Subject::ApiKey(key.id);
        let here = Some(ada.organization.id);
        let recorded = scene.events_about(here, Action::RevokeApiKey, subject).await;
        assert_eq!(recorded.len(), 1);
    }
}

async fn record(scene: &Scene<Stores>, uses: &[(&ApiKey, LastUse)]) {
    let uses = uses
        .iter()
        .map(|(key, last)| KeyUse {
            key: key.id,
            last: *last,
        })
        .collect();
    scene
        .stores
        .last_uses
        .record(uses, scene.now())
        .await
        .expect("recorded");
}
