//! Rows that no port can make, but a careless hand can: lineage that leaves its consumer, or goes in a circle. And
//! more of it than anybody has.

use std::num::NonZeroU32;
use std::time::Duration;

use keyward_domain::administration::ports::{FamilySize, KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{ApiKeys, DescendantKeys};

use crate::fixture::{Fixture, blob};

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
    fixture.directory.execute(&format!(
        "INSERT INTO users (id, username, display_name, password_hash, created_at)
             VALUES (randomblob(16), 'mallory', 'Mallory', '$hash', 0);
         INSERT INTO memberships (id, organization_id, user_id, role, joined_at)
             SELECT randomblob(16), organizations.id, users.id, 'member', 0
             FROM organizations, users WHERE username = 'mallory';
         UPDATE api_keys SET consumer_id = (SELECT memberships.id FROM memberships JOIN users ON user_id = users.id
                                            WHERE username = 'mallory') WHERE id = {}",
        blob(child.as_uuid())
    ));

    assert_eq!(valid_descendants(&fixture, key).await, []);
    assert_eq!(revoke_all(&fixture, key).await, [key]);
    assert_eq!(fixture.directory.count("api_keys WHERE revoked_at IS NULL"), 2);
}

#[tokio::test]
async fn lineage_in_a_circle_is_followed_once() {
    let fixture = Fixture::new().await;
    let [key, child, grandchild] = line(&fixture).await;
    fixture.directory.execute(&format!(
        "UPDATE api_keys SET created_by_user_id = NULL, created_by_key_id = {} WHERE id = {}",
        blob(grandchild.as_uuid()),
        blob(key.as_uuid())
    ));
    assert_eq!(valid_descendants(&fixture, key).await, [grandchild, child]);
    assert_eq!(revoke_all(&fixture, child).await, [key, child, grandchild]);
}

#[tokio::test]
async fn thousands_of_descendants_are_revoked_with_an_event_each() {
    let fixture = Fixture::new().await;
    let key = fixture.key.key.id;
    fixture.directory.execute(&format!(
        "WITH RECURSIVE series (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM series WHERE number < 2500)
         INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                               created_at)
         SELECT randomblob(16), consumer_id, randomblob(32), hint, name, description, search_text, id, created_at
         FROM api_keys, series WHERE id = {}",
        blob(key.as_uuid())
    ));
    assert_eq!(revoke_all(&fixture, key).await.len(), 2501);
    assert_eq!(fixture.directory.count("api_keys WHERE revoked_at IS NULL"), 0);
    let events = "audit_events JOIN api_keys ON subject_id = api_keys.id WHERE action = 'api_key.revoke'";
    assert_eq!(fixture.directory.count(events), 2501);
}

/// Whoever creates and revokes keys all day must not get out of reach by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_family_of_hundreds_of_thousands_is_looked_at_and_ended_in_the_usual_time() {
    let fixture = Fixture::with(|config| config.answer_timeout = Duration::from_millis(1_900)).await;
    let root = fixture.key.key.id;
    fixture.directory.execute(&format!(
        "WITH RECURSIVE series (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM series WHERE number < 200000)
         INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                               created_at, revoked_at, revoked_by_kind, revoked_reason)
         SELECT randomblob(16), consumer_id, randomblob(32), hint, name, '', name, id, created_at, created_at,
             'administrator', 'administrator'
         FROM api_keys, series WHERE id = {}",
        blob(root.as_uuid())
    ));
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
