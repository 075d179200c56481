//! A migrated database of a test's own, and something in it.

use std::time::Duration;

use chrono::TimeDelta;
use keyward_domain::audit::{Act, Action, Actor, Subject};
use keyward_domain::holder::Holder;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::keys::IdempotencyKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{AddKeyError, ApiKeys, KeyLimit, KeyLimits, NewApiKey, StorageError};
use keyward_domain::rate::Rate;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::sign_in::ports::{FirstOwner, InstallationStore, SetupProof};
use keyward_domain::testing::Builder;
use keyward_persistence::postgres::{PostgresConfig, PostgresStore};
use keyward_test_database::TestDatabase;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::database::MIGRATIONS_KEY;

/// More keys than any test adds.
pub(crate) const AMPLE: KeyLimits = KeyLimits {
    valid: KeyLimit(1_000),
    changes: Rate::new(100_000, TimeDelta::milliseconds(1)),
};

/// The hash of the first owner's password.
pub(crate) const FIRST_HASH: &str = "$a-hash";

/// A database with the schema, empty otherwise.
pub(crate) async fn migrated_database() -> TestDatabase {
    let migrate = async |url: String| store(long_timeouts(&url)).migrate().await.map(drop);
    TestDatabase::migrated(MIGRATIONS_KEY, migrate)
        .await
        .expect("a migrated database")
}

/// Waits for a busy machine rather than fail: for tests that are not about time.
pub(crate) fn long_timeouts(url: &str) -> PostgresConfig {
    let mut config = PostgresConfig::from_url(url).expect("a database URL");
    config.max_connections = 64;
    config.step_timeout = Duration::from_secs(30);
    config.answer_timeout = Duration::from_secs(40);
    config.outcome_timeout = Duration::from_secs(50);
    config
}

pub(crate) fn store(config: PostgresConfig) -> PostgresStore {
    PostgresStore::connect(config).expect("a store")
}

/// Direct access to the database, past the store.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

pub(crate) async fn count(client: &Client, table: &str) -> i64 {
    client
        .query_one(&format!("SELECT count(*) FROM {table}"), &[])
        .await
        .expect("a count")
        .get(0)
}

/// A read of the keys' table that has a connection of its own.
pub(crate) async fn read(store: &PostgresStore) -> Result<(), StorageError> {
    let (consumer, key) = (
        MembershipId::from_uuid(Uuid::max()),
        ApiKeyId::from_uuid(Uuid::max()),
    );
    assert_eq!(ApiKeys::find(store, consumer, key).await?, None);
    Ok(())
}

/// Makes every COMMIT that wrote an event take this long.
pub(crate) fn slow_commit(seconds: u32) -> String {
    format!(
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON audit_events DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION dawdle();"
    )
}

/// An installation that is set up: its store, its first owner, and a key of theirs.
pub(crate) struct Fixture {
    pub(crate) store: PostgresStore,
    pub(crate) client: Client,
    pub(crate) make: Builder,
    pub(crate) owner: Member,
    pub(crate) key: NewApiKey,
    // Last, so that everything that is connected goes first.
    pub(crate) database: TestDatabase,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut PostgresConfig)) -> Self {
        let database = migrated_database().await;
        let mut config = long_timeouts(database.url());
        change(&mut config);
        let store = store(config);
        let make = Builder::new(1);
        let owner = set_up(&store, &make).await;
        let (key, _) = make.new_key(&owner.as_holder(), "first");
        let fixture = Self {
            client: connect(database.url()).await,
            store,
            make,
            owner,
            key,
            database,
        };
        fixture
            .add(fixture.key.clone())
            .await
            .expect("the first key is added");
        fixture
    }

    pub(crate) fn holder(&self) -> Holder {
        self.owner.as_holder()
    }

    pub(crate) fn act(&self) -> Act {
        self.make.act_of(&self.holder())
    }

    pub(crate) fn new_key(&self, name: &str, idempotency_key: Option<IdempotencyKey>) -> NewApiKey {
        let (key, _) = self.make.new_key(&self.holder(), name);
        NewApiKey {
            idempotency_key,
            ..key
        }
    }

    pub(crate) fn new_child(&self, parent: ApiKeyId, name: &str) -> NewApiKey {
        let mut new = self.new_key(name, None);
        new.key.origin = keyward_domain::api_key::Origin::Key(parent);
        new
    }

    pub(crate) async fn add(&self, new: NewApiKey) -> Result<(), AddKeyError> {
        self.store.add_key(new, self.act()).await
    }

    pub(crate) async fn execute(&self, statements: &str) {
        self.client.batch_execute(statements).await.expect(statements);
    }
}

/// Several ports have a method of this name.
pub(crate) trait AddKey {
    async fn add_key(&self, new: NewApiKey, act: Act) -> Result<(), AddKeyError>;
}

impl AddKey for PostgresStore {
    async fn add_key(&self, new: NewApiKey, act: Act) -> Result<(), AddKeyError> {
        ApiKeys::add(self, new, AMPLE, act).await.map(drop)
    }
}

async fn set_up(store: &PostgresStore, make: &Builder) -> Member {
    let organization = make.organization("Analytical Engines");
    let user = make.user("ada");
    let membership = make.membership(&organization, &user, Role::Owner);
    let act = make.act(Actor::Administrator);
    let event = act.event(Action::CreateOrganization, Subject::Organization(organization.id));
    let first_owner = FirstOwner {
        organization: organization.clone(),
        user: user.clone(),
        membership: membership.clone(),
        password_hash: PasswordHash::from_phc_string(FIRST_HASH.to_owned()),
    };
    store
        .set_up(SetupProof::CommandLine, first_owner, vec![event])
        .await
        .expect("an empty store is set up");
    Member {
        user,
        organization,
        membership,
    }
}
