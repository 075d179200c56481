//! A data directory of a test's own, and something in it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use diesel::connection::SimpleConnection;
use diesel::prelude::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::{BigInt, Text};
use keyward_domain::audit::{Act, Action, Actor, Subject};
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{AddKeyError, ApiKeys, KeyLimit, KeyLimits, NewApiKey};
use keyward_domain::rate::Rate;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::sign_in::ports::{FirstOwner, InstallationStore, SetupProof};
use keyward_domain::testing::Builder;
use keyward_persistence::sqlite::{SqliteConfig, SqliteStore};
use tempfile::TempDir;
use uuid::Uuid;

/// More keys than any test adds.
pub(crate) const AMPLE: KeyLimits = KeyLimits {
    valid: KeyLimit(10_000),
    changes: Rate::new(100_000, TimeDelta::milliseconds(1)),
};
/// The hash of the first owner's password.
pub(crate) const FIRST_HASH: &str = "$a-hash";
const DEADLINE: Duration = Duration::from_secs(20);

/// A new directory, removed at the end.
pub(crate) struct DataDirectory(TempDir);

impl DataDirectory {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    /// Where the database is; not there yet.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("data")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path().join("keyward.db")
    }

    /// Waits for a busy machine rather than fail: for tests that are not about time.
    pub(crate) fn long_timeouts(&self) -> SqliteConfig {
        long_timeouts(&self.path())
    }

    /// A connection past the store.
    pub(crate) fn connect(&self) -> SqliteConnection {
        let mut connection =
            SqliteConnection::establish(self.file().to_str().expect("UTF-8")).expect("a connection");
        connection
            .batch_execute("PRAGMA busy_timeout = 30000; PRAGMA foreign_keys = ON")
            .expect("settings");
        connection
    }

    pub(crate) fn execute(&self, statements: &str) {
        self.connect().batch_execute(statements).expect(statements);
    }

    pub(crate) fn count(&self, rows: &str) -> i64 {
        let query = format!("SELECT count(*) AS count FROM {rows}");
        let row: Count = diesel::sql_query(query)
            .get_result(&mut self.connect())
            .expect("a count");
        row.count
    }

    /// The rows of a query with one column, `text`.
    pub(crate) fn texts(&self, query: &str) -> Vec<String> {
        let rows: Vec<OneText> = diesel::sql_query(query).load(&mut self.connect()).expect(query);
        rows.into_iter().map(|row| row.text).collect()
    }
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

#[derive(QueryableByName)]
struct OneText {
    #[diesel(sql_type = Text)]
    text: String,
}

pub(crate) fn long_timeouts(directory: &Path) -> SqliteConfig {
    let mut config = SqliteConfig::in_directory(directory);
    config.busy_timeout = Duration::from_secs(30);
    config.answer_timeout = Duration::from_secs(40);
    config.outcome_timeout = Duration::from_secs(50);
    config
}

pub(crate) async fn migrated_store(config: SqliteConfig) -> SqliteStore {
    let store = SqliteStore::open(config).expect("a store");
    store.migrate().await.expect("the schema");
    store
}

/// An identifier in SQL.
pub(crate) fn blob(id: Uuid) -> String {
    format!("x'{}'", id.as_simple())
}

/// Asks again and again until the answer is yes.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}: not within {DEADLINE:?}");
        tokio::task::yield_now().await;
    }
}

/// An installation that is set up: its store, its first owner, and a key of theirs.
pub(crate) struct Fixture {
    pub(crate) store: SqliteStore,
    pub(crate) make: Builder,
    pub(crate) owner: Member,
    pub(crate) key: NewApiKey,
    // Last, so that everything that is connected goes first.
    pub(crate) directory: DataDirectory,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut SqliteConfig)) -> Self {
        let directory = DataDirectory::new();
        let mut config = directory.long_timeouts();
        change(&mut config);
        let store = migrated_store(config).await;
        let make = Builder::new(1);
        let owner = set_up(&store, &make).await;
        let (key, _) = make.new_key(&owner.as_holder(), "first");
        let fixture = Self {
            store,
            make,
            owner,
            key,
            directory,
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

    pub(crate) fn new_key(&self, name: &str) -> NewApiKey {
        self.make.new_key(&self.holder(), name).0
    }

    pub(crate) async fn add(&self, new: NewApiKey) -> Result<(), AddKeyError> {
        add(&self.store, self.act(), new).await
    }

    pub(crate) async fn is_stored(&self, key: ApiKeyId) -> bool {
        let consumer = self.holder().consumer().id;
        let found = ApiKeys::find(&self.store, consumer, key).await;
        found.expect("the database answers").is_some()
    }
}

/// Adds a key with its event.
pub(crate) async fn add(store: &SqliteStore, act: Act, new: NewApiKey) -> Result<(), AddKeyError> {
    ApiKeys::add(store, new, AMPLE, act).await.map(drop)
}

pub(crate) async fn set_up(store: &SqliteStore, make: &Builder) -> Member {
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
