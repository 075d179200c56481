//! Cases of [`Credentials`](crate::ports::Credentials).

use chrono::TimeDelta;

use super::super::KeyStores;
use super::super::scene::{Scene, similar_to};
use crate::access::{CallerOrganization, CallingKey, Credential};
use crate::membership::Member;
use crate::ports::{DescendantKeys, NewApiKey};
use crate::token::TokenDigest;
use crate::validity::End;

pub(super) async fn credential_holds_all_facts_about_the_caller(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Ünïted Wörks").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let bob = scene.join(&ada.organization, "bob").await;
    for member in [&ada, &elsewhere, &bob] {
        scene.later(TimeDelta::milliseconds(5));
        let new = scene.new_key(member, "key");
        scene.store(member, &new).await;
        let found = find(&scene, &new.digest).await;
        assert_eq!(found, Some(credential(member, &new)));
        assert!(found.is_some_and(|credential| credential.is_accepted(scene.now())));
    }
}

pub(super) async fn unknown_digest_has_no_credential(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.add_key(&ada, "key").await;
    let unknown = scene.new_key(&ada, "never added").digest;

    assert_eq!(find(&scene, &unknown).await, None);
}

pub(super) async fn credential_lookup_compares_every_byte_of_the_digest(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.new_key(&ada, "first");
    scene.store(&ada, &first).await;
    let similar = similar_to(first.digest.as_bytes()).map(TokenDigest::from_bytes);
    for (byte, digest) in similar.iter().enumerate() {
        assert!(find(&scene, digest).await.is_none(), "byte {byte} is another one");
    }
    let second = NewApiKey {
        digest: similar[31],
        ..scene.new_key(&ada, "second")
    };
    scene.store(&ada, &second).await;

    for new in [&first, &second] {
        let found = find(&scene, &new.digest).await.expect("a known digest");
        assert_eq!(found.api_key.id, new.key.id);
    }
}

pub(super) async fn credential_includes_the_revocation_time_of_its_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "key");
    let key = scene.store(&ada, &new).await;
    let revoked_at = scene.later(TimeDelta::milliseconds(7));
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    scene.later(TimeDelta::hours(1));
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    let expected = Credential {
        key_end: Some(End::Come(revoked_at)),
        ..credential(&ada, &new)
    };

    assert_eq!(find(&scene, &new.digest).await, Some(expected));
}

pub(super) async fn credentials_immediately_reflect_the_end_of_their_membership(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let kept = scene.new_key(&elsewhere, "kept");
    scene.store(&elsewhere, &kept).await;
    let lost = [scene.new_key(&ada, "one"), scene.new_key(&ada, "two")];
    for new in &lost {
        scene.store(&ada, new).await;
        assert_eq!(find(&scene, &new.digest).await, Some(credential(&ada, new)));
    }
    let ended_at = scene.later(TimeDelta::milliseconds(7));
    scene.end_membership(&ada).await;

    for new in &lost {
        let expected = Credential {
            membership_end: Some(End::Come(ended_at)),
            ..credential(&ada, new)
        };
        assert_eq!(find(&scene, &new.digest).await, Some(expected));
    }
    assert_eq!(
        find(&scene, &kept.digest).await,
        Some(credential(&elsewhere, &kept)),
        "the user's other membership goes on"
    );
}

pub(super) async fn keys_stay_invalid_when_their_user_is_invited_again(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let old = scene.new_key(&ada, "old");
    scene.store(&ada, &old).await;
    scene.end_membership(&ada).await;
    scene.later(TimeDelta::days(1));
    let again = scene.join_also(&ada.user, &ada.organization).await;
    let new = scene.new_key(&again, "new");
    scene.store(&again, &new).await;

    let dead = find(&scene, &old.digest).await.expect("still known");
    assert!(!dead.is_accepted(scene.now()));
    assert_eq!(dead.consumer.id, ada.membership.id);
    assert_eq!(find(&scene, &new.digest).await, Some(credential(&again, &new)));
}

fn credential(member: &Member, new: &NewApiKey) -> Credential {
    Credential {
        api_key: CallingKey {
            id: new.key.id,
            created_at: new.key.created_at,
            can_manage_keys: new.key.can_manage_keys,
        },
        consumer: member.as_holder().consumer().clone(),
        organization: CallerOrganization {
            id: member.organization.id,
            slug: member.organization.slug.clone(),
            name: member.organization.name.clone(),
        },
        key_end: None,
        membership_end: None,
    }
}

async fn find(scene: &Scene, digest: &TokenDigest) -> Option<Credential> {
    scene
        .stores
        .credentials
        .find(digest)
        .await
        .expect("the store answers")
}
