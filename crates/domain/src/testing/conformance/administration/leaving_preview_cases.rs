//! Which keys [`MemberStore::leaving_preview`](crate::administration::ports::MemberStore::leaving_preview)
//! shows.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::scene::Scene;
use crate::administration::ports::LeavingPreview;
use crate::api_key::{ApiKey, LastUse};
use crate::id::{ApiKeyId, OrganizationId};
use crate::membership::Member;
use crate::ports::{DescendantKeys, KeyUse};

async fn use_key(scene: &Scene<Stores>, key: &ApiKey, at: DateTime<Utc>) {
    let last = LastUse {
        at,
        from: Some([203, 0, 113, 7].into()),
    };
    let uses = vec![KeyUse { key: key.id, last }];
    scene
        .stores
        .last_uses
        .record(uses, scene.now())
        .await
        .expect("recorded");
}

async fn preview(
    scene: &Scene<Stores>,
    organization: OrganizationId,
    member: &Member,
    used_after: DateTime<Utc>,
) -> LeavingPreview<ApiKey> {
    let store = &scene.stores.members;
    let preview = store.leaving_preview(organization, member.membership.id, used_after, scene.now());
    preview.await.expect("the store answers")
}

pub(super) async fn preview_counts_valid_and_recently_used_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&bob.user, &other).await;
    let here = ada.organization.id;
    let nothing = LeavingPreview {
        keys: 0,
        recently_used: 0,
        first: Vec::new(),
    };
    assert_eq!(preview(&scene, here, &bob, scene.now()).await, nothing);

    let parent = scene.add_key(&bob, "parent").await;
    let child = scene.add_child(&bob, &parent, "child").await;
    let unused = scene.add_key(&bob, "unused").await;
    let revoked = scene.add_key(&bob, "revoked").await;
    let not_his = scene.add_key(&ada, "not his").await;
    let not_here = scene.add_key(&elsewhere, "not here").await;
    let since = scene.later(TimeDelta::days(9));
    use_key(&scene, &parent, since).await;
    for key in [&child, &revoked, &not_his, &not_here] {
        use_key(&scene, key, since + TimeDelta::milliseconds(1)).await;
    }
    scene.revoke(&bob, &revoked, DescendantKeys::Keep).await;

    let his = preview(&scene, here, &bob, since).await;
    assert_eq!((his.keys, his.recently_used), (3, 1));
    let first: Vec<ApiKeyId> = his.first.iter().map(|key| key.id).collect();
    assert_eq!(first, [child.id, parent.id, unused.id]);
    assert_eq!(preview(&scene, other.id, &bob, since).await, nothing);
    let theirs = preview(&scene, other.id, &elsewhere, since).await;
    assert_eq!((theirs.keys, theirs.recently_used), (1, 1));
}

pub(super) async fn preview_lists_the_50_most_recently_used_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut keys = Vec::new();
    for number in 0..60 {
        keys.push(scene.add_key(&ada, &format!("key {number}")).await);
    }
    let now = scene.later(TimeDelta::days(1));
    // Two by two at the same moment, and not in the order of their creation.
    for (number, key) in keys.iter().enumerate().take(40) {
        let minutes = i64::try_from(number / 2 * 7 % 20).expect("a number");
        use_key(&scene, key, now - TimeDelta::minutes(minutes)).await;
    }
    let mut stored = Vec::new();
    for key in &keys {
        stored.push(scene.stored(key).await);
    }
    stored.sort_by_key(|key| std::cmp::Reverse((key.last_use.map(|last| last.at), key.id)));

    let shown = preview(&scene, ada.organization.id, &ada, now - TimeDelta::minutes(10)).await;
    assert_eq!((shown.keys, shown.recently_used), (60, 20));
    let ids: Vec<ApiKeyId> = shown.first.iter().map(|key| key.id).collect();
    let expected: Vec<ApiKeyId> = stored.iter().take(50).map(|key| key.id).collect();
    assert_eq!(ids, expected);
}
