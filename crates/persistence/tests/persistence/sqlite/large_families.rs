//! A family of more keys than anybody has, nearly all of them dead.

use std::num::NonZeroU32;
use std::time::Duration;

use keyward_domain::administration::ports::{FamilySize, KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{ApiKeys, DescendantKeys};

use crate::sqlite::fixture::{Fixture, blob};

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
