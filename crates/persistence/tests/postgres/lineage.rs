//! Rows that no port can make, but a careless hand can: lineage that leaves its consumer, or goes in a circle. And
//! more of it than anybody has.

use std::num::NonZeroU32;
use std::time::Duration;

use keyward_domain::administration::ports::{FamilySize, KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{ApiKeys, DescendantKeys};

use crate::fixture::{Fixture, count};

/// A key, its child and its grandchild.
async fn line(fixture: &Fixture) -> [ApiKeyId; 3] {
    let key = fixture.key.key.id;
    let child = fixture.new_child(key, "child");
    let grandchild = fixture.new_child(child.key.id, "grandchild");
    let line = [key, child.key.id, grandchild.key.id];
    fixture.add(child).await.expect("a child");
    fixture.add(grandchild).await.expect("a grandchild");
    line
}

async fn valid_descendants(fixture: &Fixture, key: ApiKeyId) -> Vec<ApiKeyId> {
    let consumer = fixture.holder().consumer().id;
    let keys = fixture.store.valid_descendants(consumer, key).await;
    keys.expect("descendants").iter().map(|key| key.id).collect()
}

async fn revoke_all(fixture: &Fixture, key: ApiKeyId) -> Vec<ApiKeyId> {
    let consumer = fixture.holder().consumer().id;
    let (reason, descendants) = (RevocationReason::Holder, DescendantKeys::Revoke);
    let keys: &dyn ApiKeys = &fixture.store;
    let revoked = keys
        .revoke(consumer, key, reason, descendants, fixture.act())
        .await;
    revoked.expect("revoked keys")
}

#[tokio::test]
async fn lineage_is_not_followed_through_another_consumers_key() {
    let fixture = Fixture::new().await;
    let [key, child, grandchild] = line(&fixture).await;
    assert_eq!(valid_descendants(&fixture, key).await, [grandchild, child]);
    // The child becomes the key of another member.
    fixture
        .execute(&format!(
            "INSERT INTO users (id, username, display_name, password_hash, created_at)
             VALUES (gen_random_uuid(), 'mallory', 'Mallory', '$hash', now());
             INSERT INTO memberships (id, organization_id, user_id, role, joined_at)
                 SELECT gen_random_uuid(), organizations.id, users.id, 'member', now()
                 FROM organizations, users WHERE username = 'mallory';
             UPDATE api_keys SET consumer_id = memberships.id FROM memberships JOIN users ON user_id = users.id
                 WHERE username = 'mallory' AND api_keys.id = '{child}'"
        ))
        .await;

    assert_eq!(valid_descendants(&fixture, key).await, []);
    assert_eq!(revoke_all(&fixture, key).await, [key]);
    assert_eq!(
        count(&fixture.client, "api_keys WHERE revoked_at IS NULL").await,
        2
    );
}

#[tokio::test]
async fn lineage_in_a_circle_is_followed_once() {
    let fixture = Fixture::new().await;
    let [key, child, grandchild] = line(&fixture).await;
    fixture
        .execute(&format!(
            "UPDATE api_keys SET created_by_user_id = NULL, created_by_key_id = '{grandchild}' WHERE id = '{key}'"
        ))
        .await;
    assert_eq!(valid_descendants(&fixture, key).await, [grandchild, child]);
    assert_eq!(revoke_all(&fixture, child).await, [key, child, grandchild]);
}

#[tokio::test]
async fn more_descendants_than_fit_one_statement_are_revoked_with_an_event_each() {
    let fixture = Fixture::new().await;
    let key = fixture.key.key.id;
    fixture
        .execute(&format!(
            "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                                   created_at)
             SELECT gen_random_uuid(), consumer_id, sha256(number::text::bytea), hint, name, description, search_text,
                    id, created_at
             FROM api_keys, generate_series(1, 2500) number WHERE id = '{key}'"
        ))
        .await;
    assert_eq!(revoke_all(&fixture, key).await.len(), 2501);
    assert_eq!(
        count(&fixture.client, "api_keys WHERE revoked_at IS NULL").await,
        0
    );
    let events = "audit_events JOIN api_keys ON subject_id = api_keys.id WHERE action = 'api_key.revoke'";
    assert_eq!(count(&fixture.client, events).await, 2501);
}

/// Whoever creates and revokes keys all day must not get out of reach by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_family_of_hundreds_of_thousands_is_looked_at_and_ended_in_the_usual_time() {
    let fixture = Fixture::with(|config| {
        config.step_timeout = Duration::from_millis(1_500);
        config.answer_timeout = Duration::from_millis(1_900);
    })
    .await;
    let root = fixture.key.key.id;
    fixture
        .execute(&format!(
            "SET session_replication_role = replica;
             INSERT INTO api_keys (id, consumer_id, organization_id, digest, hint, name, description, search_text,
                 created_by_key_id, created_at, revoked_at, revoked_by_kind, revoked_reason)
             SELECT gen_random_uuid(), consumer_id, organization_id, decode(md5('a' || n) || md5('b' || n), 'hex'), hint,
                 name, '', name, id, created_at, created_at, 'administrator', 'administrator'
             FROM api_keys, generate_series(1, 200000) AS n WHERE id = '{root}'"
        ))
        .await;
    let valid = fixture.new_child(root, "the only valid one");
    let valid_id = valid.key.id;
    fixture.add(valid).await.expect("a child");

    assert_eq!(valid_descendants(&fixture, root).await, [valid_id]);
    let organization = fixture.owner.organization.id;
    let owners: &dyn OrganizationKeyStore = &fixture.store;
    let family = owners.family(organization, valid_id, FamilySize::DEFAULT).await;
    let family = family.expect("a family");
    assert_eq!((family.keys.len(), family.has_more), (500, true));
    assert!(family.keys.iter().any(|key| key.id == valid_id));
    let selection = KeySelection::Keys {
        ids: vec![root],
        descendants: DescendantKeys::Revoke,
    };
    let at_stake = owners.at_stake(organization, selection.clone()).await;
    assert_eq!(at_stake.expect("an answer").keys, 2);
    let act = fixture.act();
    let revoked = owners
        .revoke(
            organization,
            selection,
            NonZeroU32::MAX,
            RevocationReason::Owner,
            None,
            act,
        )
        .await;
    assert_eq!(revoked.expect("revoked keys"), [root, valid_id]);
    assert_eq!(revoke_all(&fixture, root).await, []);
}
