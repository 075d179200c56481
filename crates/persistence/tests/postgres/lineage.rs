//! Rows that no port can make, but a careless hand can: lineage that leaves its consumer, or goes in a circle. And
//! more of it than anybody has.

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
    let revoked = fixture
        .store
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
