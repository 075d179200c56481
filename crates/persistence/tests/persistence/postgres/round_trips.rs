//! How often a change waits for the server. On a slow network, this determines its duration: at 50 ms each
//! way, ten round trips take a second.

use std::num::NonZeroU32;

use keyward_domain::administration::ports::{KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition, LastUse, RevocationReason};
use keyward_domain::audit::Actor;
use keyward_domain::clock::Clock as _;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{ChosenKey, IdempotencyKey, RequestDigest};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::{ApiKeys, Credentials, DescendantKeys, KeyUse, LastUses as _};
use keyward_domain::token::TokenDigest;
use keyward_persistence::postgres::PostgresStore;

use crate::postgres::fixture::{AMPLE, AddKey, Fixture, long_timeouts, store};
use crate::postgres::proxy::Proxy;

/// A store on one connection, and how often it asked the server.
struct Far {
    fixture: Fixture,
    proxy: Proxy,
    store: PostgresStore,
}

impl Far {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let proxy = Proxy::before(fixture.database.url(), None).await;
        let mut config = long_timeouts(&proxy.url("127.0.0.1"));
        config.max_connections = 1;
        Self {
            store: store(config),
            fixture,
            proxy,
        }
    }

    /// The round trips of `change`, once the connection is open and has prepared the statements.
    async fn round_trips(&self, mut change: impl AsyncFnMut()) -> u32 {
        change().await;
        let before = self.proxy.round_trips();
        change().await;
        self.proxy.round_trips() - before
    }

    async fn key(&self, name: &str) -> ApiKey {
        let new = self.fixture.new_key(name, None);
        let key = new.key.clone();
        self.fixture.add(new).await.expect("a key");
        key
    }

    async fn revoke(&self, id: ApiKeyId, descendants: DescendantKeys, actor: Option<ApiKeyId>) -> usize {
        let act = match actor {
            Some(key) => self.fixture.make.act(Actor::ApiKey(key)),
            None => self.fixture.act(),
        };
        let (consumer, any) = (self.fixture.holder().consumer().id, KeyPrecondition::AnyVersion);
        let reason = RevocationReason::Holder;
        let revoked = ApiKeys::revoke(&self.store, consumer, id, reason.into(), descendants, any, act).await;
        revoked.expect("a revocation").len()
    }

    async fn revoke_as_owner(&self, selection: KeySelection) -> usize {
        let (organization, reason) = (self.fixture.owner.organization.id, RevocationReason::Owner);
        let act = self.fixture.act();
        let revoked = OrganizationKeyStore::revoke(
            &self.store,
            organization,
            selection,
            NonZeroU32::MAX,
            reason,
            None,
            act,
        );
        revoked.await.expect("a revocation").keys.len()
    }
}

#[tokio::test]
async fn creating_a_key_once_takes_four_round_trips() {
    let far = Far::new().await;
    let fixture = &far.fixture;
    let created = async || {
        let mut new = fixture.new_key("request", None);
        let chosen = ChosenKey::parse(&new.key.id.to_string()).expect("a key");
        new.idempotency_key = Some(chosen.for_request(RequestDigest::of("createApiKey", &["request"])));
        far.store.add_key(new, fixture.act()).await.expect("a key");
    };
    // Before it waits for the consumer, it asks whether another server handles the same request.
    assert_eq!(far.round_trips(created).await, 4);
}

#[tokio::test]
async fn creating_and_editing_keys_takes_three_round_trips() {
    let far = Far::new().await;
    let fixture = &far.fixture;
    let parent = fixture.key.key.id;
    let created = async || {
        let idempotency_key = IdempotencyKey::generate(&*fixture.make.random);
        let new = fixture.new_key("console", Some(idempotency_key));
        far.store.add_key(new, fixture.act()).await.expect("a key");
    };
    assert_eq!(far.round_trips(created).await, 3);
    let created_with_a_key = async || {
        let new = fixture.new_child(parent, "child");
        let act = fixture.make.act(Actor::ApiKey(parent));
        far.store.add_key(new, act).await.expect("a key");
    };
    assert_eq!(far.round_trips(created_with_a_key).await, 3);
    let mut name = "a name".to_owned();
    let edited = async || {
        name.push('!');
        let edit = KeyEdit {
            name: Some(KeyName::parse(&name).expect("a name")),
            ..KeyEdit::default()
        };
        let (consumer, any) = (fixture.holder().consumer().id, KeyPrecondition::AnyVersion);
        let edited = ApiKeys::edit(
            &far.store,
            consumer,
            parent,
            edit,
            any,
            AMPLE.changes,
            fixture.act(),
        );
        assert_eq!(edited.await.expect("an edit").name.as_str(), name);
    };
    assert_eq!(far.round_trips(edited).await, 3);
}

#[tokio::test]
async fn revoking_a_key_takes_three_round_trips() {
    let far = Far::new().await;
    let in_person = async || {
        let key = far.key("plain").await;
        assert_eq!(far.revoke(key.id, DescendantKeys::Keep, None).await, 1);
    };
    assert_eq!(far.round_trips(in_person).await, 3);
    let by_itself = async || {
        let key = far.key("itself").await;
        assert_eq!(far.revoke(key.id, DescendantKeys::Keep, Some(key.id)).await, 1);
    };
    assert_eq!(far.round_trips(by_itself).await, 3);
    // And a look at whether there is anything to revoke.
    let with_descendants = async || {
        let key = far.key("parent").await;
        far.fixture
            .add(far.fixture.new_child(key.id, "child"))
            .await
            .expect("a child");
        assert_eq!(far.revoke(key.id, DescendantKeys::Revoke, None).await, 2);
    };
    assert_eq!(far.round_trips(with_descendants).await, 4);
    let unknown = async || {
        let key = far.fixture.new_key("never added", None).key;
        let (consumer, any) = (far.fixture.holder().consumer().id, KeyPrecondition::AnyVersion);
        let (reason, act) = (RevocationReason::Holder, far.fixture.act());
        let below = DescendantKeys::Revoke;
        let refused = ApiKeys::revoke(&far.store, consumer, key.id, reason.into(), below, any, act).await;
        assert!(refused.is_err(), "{refused:?}");
    };
    assert_eq!(far.round_trips(unknown).await, 1);
}

#[tokio::test]
async fn owners_revoke_keys_in_four_round_trips() {
    let far = Far::new().await;
    let one = async || {
        let ids = vec![far.key("one").await.id];
        let descendants = DescendantKeys::Keep;
        assert_eq!(
            far.revoke_as_owner(KeySelection::Keys { ids, descendants }).await,
            1
        );
    };
    assert_eq!(far.round_trips(one).await, 4);
    let all_of_a_person = async || {
        for name in ["one", "another", "a third"] {
            far.key(name).await;
        }
        let consumer = far.fixture.owner.membership.id;
        assert!(far.revoke_as_owner(KeySelection::OfConsumer(consumer)).await >= 3);
    };
    assert_eq!(far.round_trips(all_of_a_person).await, 4);
}

#[tokio::test]
async fn verifying_a_key_takes_one_round_trip() {
    let far = Far::new().await;
    let verified = async || {
        let found = Credentials::find(&far.store, &TokenDigest::from_bytes([7; 32])).await;
        assert_eq!(found.expect("an answer"), None);
    };
    assert_eq!(far.round_trips(verified).await, 1);
}

#[tokio::test]
async fn recording_last_uses_takes_two_round_trips() {
    let far = Far::new().await;
    let keys = [far.fixture.key.key.id, far.key("another").await.id];
    let at = far.fixture.make.clock.now();
    let last = LastUse { at, from: None };
    let recorded = async || {
        let uses = keys.map(|key| KeyUse { key, last }).to_vec();
        far.store.record(uses, at).await.expect("recorded");
    };
    // From the first to the second, the keys are locked, and revocations of them wait.
    assert_eq!(far.round_trips(recorded).await, 2);
}

#[tokio::test]
async fn readiness_takes_two_round_trips() {
    let far = Far::new().await;
    let asked = async || assert!(far.store.is_ready().await.expect("an answer"));
    assert_eq!(far.round_trips(asked).await, 2);
}

#[tokio::test]
async fn batch_of_ends_takes_few_more_round_trips_than_one() {
    let far = Far::new().await;
    add_due_memberships(&far.fixture, 2 * (1 + 150)).await;
    let recorded = async |at_most| {
        let act = far.fixture.make.act(Actor::System);
        let recorded = far.store.record_ends_of_memberships(at_most, act).await;
        assert_eq!(recorded.expect("recorded"), at_most);
    };
    let one = far.round_trips(async || recorded(1).await).await;
    assert_eq!(one, 6);
    // Many events at once are one statement, which is prepared each time.
    let many = far.round_trips(async || recorded(150).await).await;
    assert!(many <= one + 2, "{many}");
}

/// Owners, each with a place in a project and an open invitation, whose planned end has come.
async fn add_due_memberships(fixture: &Fixture, count: u32) {
    let organization = fixture.owner.organization.id;
    let statements = format!(
        "INSERT INTO projects (id, organization_id, name, search_text, created_at)
             VALUES (gen_random_uuid(), '{organization}', 'Notes', 'notes', '2020-01-01Z');
         CREATE TEMPORARY TABLE due AS
             SELECT number, gen_random_uuid() AS member, gen_random_uuid() AS owner
             FROM generate_series(1, {count}) AS number;
         INSERT INTO users (id, username, display_name, search_text, password_hash, created_at)
             SELECT owner, 'owner' || number, 'Owner', 'owner', '$a-hash', '2020-01-01Z' FROM due;
         INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at)
             SELECT member, '{organization}', owner, 'owner', '2020-01-01Z', '2020-01-02Z' FROM due;
         INSERT INTO project_members (membership_id, project_id, added_at)
             SELECT member, projects.id, '2020-01-01Z' FROM due, projects;
         INSERT INTO invitations (id, organization_id, digest, invitee, role, invited_by_kind, invited_by_id,
                 created_at, expires_at)
             SELECT gen_random_uuid(), '{organization}', sha256(member::text::bytea), 'Bob', 'member', 'user', owner,
                 '2020-01-01Z', '2200-01-01Z' FROM due;"
    );
    fixture.execute(&statements).await;
}
