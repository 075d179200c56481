//! A new, migrated database of either kind.

mod statistics;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use diesel::connection::SimpleConnection;
use diesel::prelude::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::{Binary, Text};
use keyward_domain::clock::Clock;
use keyward_domain::storage_ports::StoragePorts;
use keyward_domain::testing::FixedClock;
use keyward_persistence::postgres::{PostgresConfig, PostgresStore};
use keyward_persistence::sqlite::{SqliteConfig, SqliteStore};
use keyward_persistence::transfer::Transfer;
use keyward_test_database::TestDatabase;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// Makes two tests of each scenario, one on each kind of database. A scenario takes the [`Database`].
macro_rules! on_both {
    ($($scenario:ident),* $(,)?) => {
        mod postgres {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(crate::database::Database::postgres().await).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(crate::database::Database::sqlite().await).await;
            })*
        }
    };
}

/// All ports of a store, and transfers.
pub(crate) trait Store: StoragePorts + Transfer {}

impl Store for PostgresStore {}
impl Store for SqliteStore {}

/// The folders of all migrations of a kind of database, oldest first.
pub(crate) fn migrations(database: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("migrations")
        .join(database);
    let mut migrations: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the migrations")
        .map(|entry| entry.expect("a migration").path())
        .collect();
    migrations.sort();
    migrations
}

/// Stands for what PostgreSQL's migrations make: their text when the tests were compiled, as the migrations
/// were.
pub(crate) const MIGRATIONS_KEY: &str = include_str!(concat!(env!("OUT_DIR"), "/postgres.sql"));

/// A database whose tables are empty but for the row of the installation.
pub(crate) struct Database {
    pub(crate) store: Arc<dyn Store>,
    location: Location,
}

enum Location {
    Server(TestDatabase),
    Directory(TempDir),
}

impl Database {
    pub(crate) async fn postgres() -> Self {
        let migrate = async |url: String| postgres_store(&url).migrate().await.map(drop);
        let database = TestDatabase::migrated(MIGRATIONS_KEY, migrate)
            .await
            .expect("a migrated database");
        Self {
            store: Arc::new(postgres_store(database.url())),
            location: Location::Server(database),
        }
    }

    pub(crate) async fn sqlite() -> Self {
        let directory = TempDir::new().expect("a directory");
        let mut config = SqliteConfig::in_directory(directory.path());
        config.busy_timeout = Duration::from_secs(30);
        config.answer_timeout = Duration::from_secs(40);
        config.outcome_timeout = Duration::from_secs(50);
        let store = SqliteStore::open(config).expect("a store");
        store.migrate().await.expect("the schema");
        Self {
            store: Arc::new(store),
            location: Location::Directory(directory),
        }
    }

    /// A PostgreSQL database and an SQLite one.
    pub(crate) async fn both() -> [Self; 2] {
        [Self::postgres().await, Self::sqlite().await]
    }

    /// Where the server is, or which file the database is.
    pub(crate) fn url(&self) -> Result<&str, String> {
        match &self.location {
            Location::Server(database) => Ok(database.url()),
            Location::Directory(directory) => Err(file_in(directory)),
        }
    }

    /// Another store on it; on a server, by way of this URL, over one connection.
    pub(crate) fn store_at(&self, url: &str) -> Arc<dyn Store> {
        match &self.location {
            Location::Server(_) => {
                let mut config = long_timeouts(url);
                config.max_connections = 1;
                Arc::new(PostgresStore::connect(config).expect("a store"))
            }
            Location::Directory(directory) => {
                Arc::new(SqliteStore::open(SqliteConfig::in_directory(directory.path())).expect("a store"))
            }
        }
    }

    /// The steps of the database's generic plan for a statement, one a line. With so few rows PostgreSQL
    /// would rather read all of them, and sort them.
    pub(crate) async fn explain(&self, statement: &str, types: &[u32]) -> String {
        match &self.location {
            Location::Server(database) => {
                let client = client(database).await;
                let settings = "SET enable_seqscan = off; SET enable_sort = off; SET plan_cache_mode = force_generic_plan";
                client.batch_execute(settings).await.expect("settings");
                let types: Vec<String> = types.iter().map(u32::to_string).collect();
                let names = format!(
                    "SELECT '(' || string_agg(type::oid::regtype::text, ', ' ORDER BY place) || ')'
                     FROM unnest(ARRAY[{}]::bigint[]) WITH ORDINALITY AS parameters (type, place)",
                    types.join(", ")
                );
                let types: Option<String> = client.query_one(&names, &[]).await.expect("types").get(0);
                let types = types.unwrap_or_default();
                let prepare = format!("PREPARE question {types} AS {statement}");
                client.batch_execute(&prepare).await.expect(statement);
                let places =
                    "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'question'";
                let places: i32 = client.query_one(places, &[]).await.expect("a statement").get(0);
                let values = match places {
                    0 => String::new(),
                    places => format!("({})", vec!["NULL"; places as usize].join(", ")),
                };
                let explain = format!("EXPLAIN (COSTS OFF) EXECUTE question {values}");
                let steps = client.query(&explain, &[]).await.expect(statement);
                let steps: Vec<String> = steps.iter().map(|row| row.get(0)).collect();
                steps.join("\n")
            }
            Location::Directory(directory) => {
                let mut connection = connect(directory);
                not_cancelled_utils::register_impl(&mut connection, |_: Vec<u8>| true).expect("a function");
                let steps: Vec<OneStep> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {statement}"))
                    .load(&mut connection)
                    .expect(statement);
                let steps: Vec<String> = steps.into_iter().map(|step| step.detail).collect();
                steps.join("\n")
            }
        }
    }

    /// Runs statements past the store.
    pub(crate) async fn execute(&self, statements: &str) {
        self.try_execute(statements).await.expect(statements);
    }

    /// The same; returns the database's error message.
    pub(crate) async fn try_execute(&self, statements: &str) -> Result<(), String> {
        match &self.location {
            Location::Server(database) => {
                let done = client(database).await.batch_execute(statements).await;
                done.map_err(|error| format!("{error:?}"))
            }
            Location::Directory(directory) => {
                let done = connect(directory).batch_execute(statements);
                done.map_err(|error| error.to_string())
            }
        }
    }

    /// The rows of a query with one column, `text`.
    pub(crate) async fn texts(&self, query: &str) -> Vec<String> {
        match &self.location {
            Location::Server(database) => {
                let rows = client(database).await.query(query, &[]).await.expect(query);
                rows.iter().map(|row| row.get("text")).collect()
            }
            Location::Directory(directory) => {
                let rows: Vec<OneText> = diesel::sql_query(query)
                    .load(&mut connect(directory))
                    .expect(query);
                rows.into_iter().map(|row| row.text).collect()
            }
        }
    }

    pub(crate) async fn count(&self, rows: &str) -> usize {
        let count = self
            .texts(&format!("SELECT CAST(count(*) AS text) AS text FROM {rows}"))
            .await;
        count.concat().parse().expect("a count")
    }

    pub(crate) const fn is_postgres(&self) -> bool {
        matches!(self.location, Location::Server(_))
    }

    /// Runs statements past the store and past every rule of the schema.
    pub(crate) async fn execute_without_rules(&self, statements: &str) {
        let rules_off = match &self.location {
            Location::Server(_) => "ALTER TABLE audit_events DISABLE TRIGGER USER;
                DO $$ DECLARE rule record; BEGIN
                    FOR rule IN SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
                        WHERE contype = 'c' AND connamespace = 'public'::regnamespace
                    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', rule.of_table, rule.conname); END LOOP;
                END $$"
                .to_owned(),
            Location::Directory(_) => {
                let triggers = "SELECT name AS text FROM sqlite_schema
                    WHERE type = 'trigger' AND tbl_name = 'audit_events'";
                let triggers = self.texts(triggers).await;
                let dropped = triggers.iter().map(|trigger| format!("; DROP TRIGGER {trigger}"));
                format!("PRAGMA ignore_check_constraints = ON{}", dropped.collect::<String>())
            }
        };
        self.execute(&format!("{rules_off}; {statements}")).await;
    }

    /// From now on, the database refuses every event of which this is true.
    pub(crate) async fn refuse_events(&self, condition: &str) {
        self.mend_log().await;
        let trigger = match &self.location {
            Location::Server(_) => format!(
                "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
                     AS $$ BEGIN RAISE EXCEPTION 'disk on fire'; END $$;
                 CREATE TRIGGER refuse BEFORE INSERT ON audit_events FOR EACH ROW WHEN ({condition})
                     EXECUTE FUNCTION refuse()"
            ),
            Location::Directory(_) => format!(
                "CREATE TRIGGER refuse BEFORE INSERT ON audit_events WHEN {condition}
                     BEGIN SELECT RAISE(ABORT, 'disk on fire'); END"
            ),
        };
        self.execute(&trigger).await;
    }

    /// Ends what [`Self::refuse_events`] began.
    pub(crate) async fn mend_log(&self) {
        self.execute(match &self.location {
            Location::Server(_) => "DROP TRIGGER IF EXISTS refuse ON audit_events",
            Location::Directory(_) => "DROP TRIGGER IF EXISTS refuse",
        })
        .await;
    }

    /// Keeps all others from changing a consumer's keys, for as long as it is held.
    pub(crate) async fn lock_changes_of(&self, consumer: Uuid) -> Lock {
        self.lock_row("memberships", consumer).await
    }

    /// Keeps all others from changing one row, for as long as it is held; on SQLite, from all changes.
    pub(crate) async fn lock_row(&self, table: &str, id: Uuid) -> Lock {
        match &self.location {
            Location::Server(database) => {
                let client = client(database).await;
                let lock = format!("BEGIN; SELECT FROM {table} WHERE id = '{id}' FOR UPDATE");
                client.batch_execute(&lock).await.expect("a lock");
                Lock::OfServer { held: client }
            }
            Location::Directory(directory) => {
                let mut connection = connect(directory);
                connection.batch_execute("BEGIN IMMEDIATE").expect("a lock");
                Lock::OfFile { _held: connection }
            }
        }
    }

    /// Keeps all others from counting attempts, for as long as it is held; on SQLite, from all changes.
    pub(crate) async fn lock_throttle(&self) -> Lock {
        match &self.location {
            Location::Server(database) => {
                let client = client(database).await;
                let lock = "BEGIN; LOCK TABLE sign_in_throttle IN EXCLUSIVE MODE";
                client.batch_execute(lock).await.expect("a lock");
                Lock::OfServer { held: client }
            }
            Location::Directory(directory) => {
                let mut connection = connect(directory);
                connection.batch_execute("BEGIN IMMEDIATE").expect("a lock");
                Lock::OfFile { _held: connection }
            }
        }
    }

    /// Reclaims the space of removed rows. PostgreSQL does it by itself after a while, SQLite at once.
    pub(crate) async fn reclaim(&self, tables: [&str; 2]) {
        if self.is_postgres() {
            for table in tables {
                self.execute(&format!("VACUUM {table}")).await;
            }
        }
    }

    /// The size of the database, in units of its own.
    pub(crate) async fn size(&self) -> usize {
        let size = self.texts(match &self.location {
            Location::Server(_) => {
                "SELECT (pg_total_relation_size('api_keys') + pg_total_relation_size('audit_events'))::text AS text"
            }
            Location::Directory(_) => "SELECT CAST(page_count AS TEXT) AS text FROM pragma_page_count",
        });
        size.await.concat().parse().expect("a size")
    }

    /// An identifier in SQL.
    pub(crate) fn id(&self, id: Uuid) -> String {
        match &self.location {
            Location::Server(_) => format!("'{id}'::uuid"),
            Location::Directory(_) => format!("x'{}'", id.as_simple()),
        }
    }

    /// A moment in SQL.
    pub(crate) fn moment(&self, at: DateTime<Utc>) -> String {
        match &self.location {
            Location::Server(_) => format!("'{at}'::timestamptz"),
            Location::Directory(_) => at.timestamp_millis().to_string(),
        }
    }

    /// Another identifier for each row, in SQL. On a server, all are of one span of time, after those of a
    /// test's own keys: searches go from one such span to the next.
    pub(crate) const fn new_id(&self) -> &'static str {
        match &self.location {
            Location::Server(_) => "CAST('0fff' || right(CAST(gen_random_uuid() AS text), 32) AS uuid)",
            Location::Directory(_) => "randomblob(16)",
        }
    }

    /// Another digest for each row, in SQL.
    pub(crate) const fn new_digest(&self) -> &'static str {
        match &self.location {
            Location::Server(_) => "sha256(gen_random_uuid()::text::bytea)",
            Location::Directory(_) => "randomblob(32)",
        }
    }

    /// A series of this many rows, in SQL.
    pub(crate) fn series(&self, rows: usize) -> String {
        match &self.location {
            Location::Server(_) => format!("generate_series(1, {rows}) AS series"),
            Location::Directory(_) => format!(
                "(WITH RECURSIVE series (number) AS (
                      SELECT 1 UNION ALL SELECT number + 1 FROM series WHERE number < {rows}
                  ) SELECT number FROM series) AS series"
            ),
        }
    }

    /// A digest that nothing else has, in SQL.
    pub(crate) fn digest(&self, number: usize) -> String {
        match &self.location {
            Location::Server(_) => format!("'\\x{number:064x}'::bytea"),
            Location::Directory(_) => format!("x'{number:064x}'"),
        }
    }
}

/// See [`Database::lock_changes_of`].
pub(crate) enum Lock {
    OfServer { held: Client },
    OfFile { _held: SqliteConnection },
}

impl Lock {
    /// Ends it before this returns; one that is dropped ends with its connection, a moment later.
    pub(crate) async fn release(self) {
        if let Self::OfServer { held } = self {
            held.batch_execute("ROLLBACK").await.expect("an end");
        }
    }
}

#[derive(QueryableByName)]
struct OneText {
    #[diesel(sql_type = Text)]
    text: String,
}

diesel::define_sql_function! {
    /// The function that the store's long statements call for each row.
    fn not_cancelled(row: Binary) -> Bool;
}

#[derive(QueryableByName)]
struct OneStep {
    #[diesel(sql_type = Text)]
    detail: String,
}

async fn client(database: &TestDatabase) -> Client {
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls)
        .await
        .expect("a connection");
    tokio::spawn(connection);
    client
}

fn connect(directory: &TempDir) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(&file_in(directory)).expect("a connection");
    connection
        .batch_execute("PRAGMA busy_timeout = 30000; PRAGMA foreign_keys = ON")
        .expect("settings");
    connection
}

fn file_in(directory: &TempDir) -> String {
    let directory = directory.path().canonicalize().expect("a directory");
    directory.join("keyward.db").to_str().expect("UTF-8").to_owned()
}

fn postgres_store(url: &str) -> PostgresStore {
    PostgresStore::connect(long_timeouts(url)).expect("a store")
}

fn long_timeouts(url: &str) -> PostgresConfig {
    let mut config = PostgresConfig::from_url(url).expect("a database URL");
    // For a busy machine: these tests are not about time.
    config.step_timeout = Duration::from_secs(30);
    config.answer_timeout = Duration::from_secs(40);
    config.outcome_timeout = Duration::from_secs(50);
    config
}

/// The moment at which builders make everything, until their clocks are moved.
pub(crate) fn now() -> DateTime<Utc> {
    FixedClock::default().now()
}
