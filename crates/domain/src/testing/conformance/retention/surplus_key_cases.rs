//! Which keys are [surplus](crate::retention::SurplusKeys), and which members have such keys.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{ALL, DAY, MILLISECOND};
use crate::api_key::{KeyPrecondition, RevocationReason};
use crate::audit::{Act, Actor};
use crate::id::MembershipId;
use crate::ports::DescendantKeys;

pub(super) async fn keys_that_ended_last_are_kept(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let valid = scene.add_key(&ada, "valid").await;
    let mut ended = Vec::new();
    for _ in 0..5 {
        ended.push(scene.add_key(&ada, "ended").await);
    }
    // The key that was created last ends first.
    ended.reverse();
    for key in &ended {
        scene.later(MILLISECOND);
        scene.kill(&ada, key).await;
    }
    scene.later(DAY);

    for (kept, removed) in [(6, 0), (5, 0), (4, 1), (4, 0), (1, 3), (0, 1), (0, 0)] {
        assert_eq!(scene.has_surplus(&ada, kept).await, removed > 0, "{kept}");
        assert_eq!(scene.remove_surplus(&ada, kept, ALL).await, removed, "{kept}");
        let last = 5_usize.saturating_sub(kept as usize);
        assert_eq!(scene.kept(&ended).await, ended[last..], "{kept}");
    }
    assert_eq!(scene.stored(&valid).await, valid);
}

pub(super) async fn surplus_keys_are_kept_until_the_cutoff(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [first, second, last] = [
        scene.add_key(&ada, "first").await,
        scene.add_key(&ada, "second").await,
        scene.add_key(&ada, "last").await,
    ];
    let ended_at = scene.later(TimeDelta::hours(1));
    for key in [&first, &second, &last] {
        scene.kill(&ada, key).await;
        scene.later(MILLISECOND);
    }

    let kept = 1;
    assert_eq!(scene.remove_surplus_before(&ada, kept, ended_at, ALL).await, 0);
    let later = ended_at + MILLISECOND;
    assert_eq!(scene.remove_surplus_before(&ada, kept, later, ALL).await, 1);
    assert_eq!(
        scene.kept(&[first, second.clone(), last.clone()]).await,
        [second, last.clone()]
    );
    let long_after = scene.later(DAY * 100);
    assert_eq!(scene.remove_surplus_before(&ada, kept, long_after, ALL).await, 1);
    assert!(scene.is_stored(&last).await);
}

pub(super) async fn surplus_key_created_after_the_cutoff_is_kept(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let before = scene.now();
    scene.later(TimeDelta::minutes(4));
    let key = scene.add_key(&ada, "key").await;
    // By a server whose clock is behind.
    let act = Act {
        at: before - MILLISECOND,
        ..scene.act(&ada)
    };
    let revoking = scene.stores.keys.api_keys.revoke(
        ada.membership.id,
        key.id,
        RevocationReason::Holder.into(),
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        act,
    );
    assert_eq!(revoking.await.expect("a revocation"), [key.id]);

    assert_eq!(scene.remove_surplus_before(&ada, 0, before, ALL).await, 0);
    assert!(scene.is_stored(&key).await);
    let later = key.created_at + MILLISECOND;
    assert_eq!(scene.remove_surplus_before(&ada, 0, later, ALL).await, 1);
}

pub(super) async fn each_member_with_surplus_keys_is_found_once(stores: Stores) {
    const KEPT: u32 = 2;
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut members = Vec::new();
    let mut all = Vec::new();
    // Ended keys, of neighbours and of members far from each other.
    for (number, ended) in [3, 4, 0, 1, 1, 1, 2, 3, 2, 1, 0, 9, 2].into_iter().enumerate() {
        let member = scene.join(&ada.organization, &format!("member{number}")).await;
        for _ in 0..ended {
            let key = scene.add_key(&member, "ended").await;
            scene.kill(&member, &key).await;
            scene.later(MILLISECOND);
            all.push(key);
        }
        members.push((member, ended));
    }
    scene.later(DAY);
    let mut expected: Vec<MembershipId> = members
        .iter()
        .filter(|(_, ended)| *ended > KEPT)
        .map(|(member, _)| member.membership.id)
        .collect();
    expected.sort_unstable();

    let mut found = Vec::new();
    while let Some(next) = scene.next_with_surplus(found.last().copied(), KEPT).await
        && found.len() < members.len()
    {
        found.push(next);
    }
    assert_eq!(found, expected);
    // Only one member's are removed.
    let (alone, ended) = &members[11];
    assert_eq!(scene.remove_surplus(alone, KEPT, ALL).await, ended - KEPT);
    assert_eq!(scene.kept(&all).await.len(), all.len() - 7);
    assert!(!scene.has_surplus(alone, KEPT).await);
}

pub(super) async fn planned_end_makes_no_surplus_until_it_is_recorded(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut planned = Vec::new();
    for hours in [1, 2, 3] {
        let key = scene.add_key(&ada, "planned").await;
        let end = scene.now() + TimeDelta::hours(hours);
        planned.push(scene.plan_revocation(&key, end).await);
    }
    let ended = scene.add_key(&ada, "ended").await;
    scene.kill(&ada, &ended).await;
    scene.later(DAY * 2);

    assert!(!scene.has_surplus(&ada, 1).await);
    assert_eq!(scene.remove_surplus(&ada, 1, ALL).await, 0);
    assert_eq!(scene.kept(&planned).await, planned);
    let act = scene.act_as(Actor::System, None);
    let recorded = scene.stores.planned_ends.record_ends_of_keys(ALL, act).await;
    assert_eq!(recorded.expect("the store answers"), 3);
    // The moment of the end counts, not that of its record.
    assert_eq!(scene.remove_surplus(&ada, 1, ALL).await, 3);
    let all = [ended, planned.remove(0), planned.remove(0), planned.remove(0)];
    let kept = scene.kept(&all).await;
    assert_eq!(kept.iter().map(|key| key.id).collect::<Vec<_>>(), [all[3].id]);
}

pub(super) async fn surplus_keys_of_former_members_are_removed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let never_revoked = [
        scene.add_key(&bob, "never revoked").await,
        scene.add_key(&bob, "neither").await,
    ];
    let revoked = scene.add_killed(&bob, 2).await;
    scene.end_membership(&bob).await;
    scene.later(DAY);

    assert!(!scene.has_surplus(&bob, 2).await);
    assert_eq!(scene.remove_surplus(&bob, 2, ALL).await, 0);
    assert!(scene.has_surplus(&bob, 1).await);
    assert_eq!(scene.remove_surplus(&bob, 1, ALL).await, 1);
    assert_eq!(scene.kept(&revoked).await.len(), 1);
    assert_eq!(scene.kept(&never_revoked).await, never_revoked);
}
