//! Cases of [`PlannedEndStore`](crate::planned_ends::ports::PlannedEndStore): keys that end on the first use
//! of their successors.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::scene::Scene;
use super::key_scene::only;
use crate::api_key::{ApiKey, Grace, KeyUse, LastUse, OldKeyEnd, RevocationReason};
use crate::audit::{Act, Action, Actor, RequestSource, Subject};
use crate::ports::{DescendantKeys, RotationDraft, StorageError};

/// More than any case has.
const MANY: u32 = 1_000;

fn ending(old_key_ends: OldKeyEnd) -> RotationDraft {
    RotationDraft {
        old_key_ends,
        expiry: None,
    }
}

impl Scene<Stores> {
    async fn use_key(&self, key: &ApiKey) {
        let last = LastUse {
            at: self.now(),
            from: None,
        };
        let uses = vec![KeyUse { key: key.id, last }];
        self.stores
            .last_uses
            .record(uses, self.now())
            .await
            .expect("recorded");
    }

    fn act_that_ends(&self) -> Act {
        Act {
            source: RequestSource::default(),
            ..self.act_as(Actor::System, None)
        }
    }

    async fn try_to_end_rotated(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        self.stores.planned_ends.end_rotated_keys(at_most, act).await
    }

    async fn end_rotated(&self, at_most: u32) -> u32 {
        let ended = self.try_to_end_rotated(at_most, self.act_that_ends()).await;
        ended.expect("the store answers")
    }

    async fn has_key_to_end(&self) -> bool {
        let answer = self.stores.planned_ends.has_due(self.now()).await;
        answer.expect("the store answers")
    }
}

pub(super) async fn rotated_key_ends_once_its_successor_was_used(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "key");
    let key = scene.store(&ada, &new).await;
    let successor = scene.rotate(&ada, &key, ending(OldKeyEnd::OnFirstUse)).await;
    scene.later(TimeDelta::days(30));
    scene.use_key(&key).await;
    assert!(!scene.has_key_to_end().await);
    assert_eq!(scene.end_rotated(MANY).await, 0);
    let unended = scene.stored(&key).await;
    assert_eq!(
        (unended.revocation, unended.rotated_to),
        (None, Some(successor.id))
    );

    scene.use_key(&successor).await;
    scene.later(TimeDelta::seconds(30));
    assert!(scene.has_key_to_end().await);
    assert_eq!(scene.end_rotated(MANY).await, 1);
    let ended = scene.stored(&key).await;
    assert!(!ended.is_valid(scene.now()));
    let revocation = ended.revocation.as_ref().expect("a revocation");
    assert_eq!(revocation.reason, RevocationReason::Rotation);
    let subject = Subject::ApiKey(key.id);
    let here = Some(ada.organization.id);
    let recorded = scene.events_about(here, Action::RevokeApiKey, subject).await;
    let recorded: Vec<_> = recorded.iter().map(|event| (event.actor, event.at)).collect();
    assert_eq!(recorded, [(Actor::System, scene.now())]);
    let credential = scene.stores.keys.credentials.find(&new.digest).await;
    let credential = credential.expect("the store answers").expect("still known");
    assert!(!credential.is_accepted(scene.now()));
    assert!(scene.stored(&successor).await.is_valid(scene.now()));
    assert!(!scene.has_key_to_end().await);
    assert_eq!(scene.end_rotated(MANY).await, 0);
}

pub(super) async fn only_keys_that_wait_for_a_use_end_with_it(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [graced, revoked, expired] = [
        scene.add_key(&ada, "graced").await,
        scene.add_key(&ada, "revoked").await,
        scene.add_key(&ada, "expired").await,
    ];
    let end = scene.now() + TimeDelta::hours(1);
    scene.plan_revocation(&expired, end).await;
    for (key, old_key_ends) in [
        (&graced, OldKeyEnd::After(Grace::default())),
        (&revoked, OldKeyEnd::OnFirstUse),
        (&expired, OldKeyEnd::OnFirstUse),
    ] {
        let successor = scene.rotate(&ada, key, ending(old_key_ends)).await;
        scene.use_key(&successor).await;
    }
    scene
        .revoke_many(&ada, only(&[&revoked]), scene.act(&ada))
        .await
        .expect("revoked");
    scene.later(TimeDelta::hours(1));
    let mut before = Vec::new();
    for key in [&graced, &revoked, &expired] {
        before.push(scene.stored(key).await);
    }

    assert_eq!(scene.end_rotated(MANY).await, 0);
    for key in before {
        assert_eq!(scene.stored(&key).await, key);
    }
}

pub(super) async fn use_of_an_ended_successor_ends_no_key(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [revoked, expired] = [
        scene.add_key(&ada, "revoked").await,
        scene.add_key(&ada, "expired").await,
    ];
    let successor = scene.rotate(&ada, &revoked, ending(OldKeyEnd::OnFirstUse)).await;
    scene.use_key(&successor).await;
    scene.revoke(&ada, &successor, DescendantKeys::Keep).await;
    let successor = scene.rotate(&ada, &expired, ending(OldKeyEnd::OnFirstUse)).await;
    scene.use_key(&successor).await;
    let end = scene.now() + TimeDelta::hours(1);
    scene.plan_revocation(&successor, end).await;
    scene.later(TimeDelta::hours(1));
    assert_eq!(scene.end_rotated(MANY).await, 0);
    for key in [&revoked, &expired] {
        assert_eq!(scene.stored(key).await.end(), None);
    }

    // The use of a later one does.
    let later = scene.rotate(&ada, &revoked, ending(OldKeyEnd::OnFirstUse)).await;
    assert_eq!(scene.end_rotated(MANY).await, 0);
    scene.use_key(&later).await;
    assert!(scene.has_key_to_end().await);
    assert_eq!(scene.end_rotated(MANY).await, 1);
    assert!(!scene.stored(&revoked).await.is_valid(scene.now()));
    assert!(scene.stored(&expired).await.is_valid(scene.now()));
}

pub(super) async fn a_batch_of_rotated_keys_has_a_limit(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    for (number, organization) in [&ada.organization, &other, &ada.organization]
        .into_iter()
        .enumerate()
    {
        let member = scene.join(organization, &format!("member{number}")).await;
        let key = scene.add_key(&member, "key").await;
        let successor = scene.rotate(&member, &key, ending(OldKeyEnd::OnFirstUse)).await;
        scene.use_key(&successor).await;
    }
    for ended in [2, 1, 0] {
        assert_eq!(scene.has_key_to_end().await, ended > 0);
        assert_eq!(scene.end_rotated(2).await, ended);
    }
}

pub(super) async fn rotated_key_whose_event_cannot_be_written_stays(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let successor = scene.rotate(&ada, &key, ending(OldKeyEnd::OnFirstUse)).await;
    scene.use_key(&successor).await;

    let act = scene.unwritable_act(scene.act_that_ends()).await;
    let failed = scene.try_to_end_rotated(MANY, act).await;
    assert!(failed.is_err(), "{failed:?}");
    assert!(scene.stored(&key).await.is_valid(scene.now()));
    assert_eq!(scene.end_rotated(MANY).await, 1);
}
